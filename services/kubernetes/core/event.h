#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"
#include "services/kubernetes/core/objects.h"
#include "services/kubernetes/core/status.h"

namespace muster::kubernetes {

// How events.k8s.io/v1 shows an event of Muster: one object each, its repeats counted in `series`.
inline constexpr char kReportingController[] = "compute.coreweave.com/muster";

// The object's name, which follows from the event and so is found again: `{first
// time}.{object}.{event id}`, the time as sixteen hexadecimal digits, so that what is listed by
// name is listed by time.
std::string EventName(const lifecycle::v1::Event& event);

// What a create request carries. `object_uid`: of the v1 Node where it is known, empty elsewhere
// (an event about a NodePool has the pool's uid). `instance`: which replica writes.
Json EventObject(const lifecycle::v1::Event& event, const std::string& object_uid,
                 const std::string& instance, Edition edition);

// The merge patch that brings one that was written before level; only `series` may change.
Json EventSeries(const lifecycle::v1::Event& event);

// `series.count` of an event object, 1 without.
int64_t EventCount(const Json& object);

}  // namespace muster::kubernetes
