#pragma once

#include <string>

#include "absl/types/span.h"
#include "services/trace/span.h"

namespace muster::trace {

// Whose spans they are: OpenTelemetry's `service.name`, `service.version`, `service.instance.id`.
struct Service {
  std::string name = {};
  std::string version = {};
  std::string instance = {};
};

// An ExportTraceServiceRequest in OTLP's JSON encoding, in one line:
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding. What is not UTF-8 is written
// with U+FFFD in its place.
std::string ToOtlp(const Service& service, absl::Span<const Span> spans);

}  // namespace muster::trace
