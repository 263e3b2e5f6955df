#include "services/trace/otlp.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace muster::trace {
namespace {

using Json = nlohmann::ordered_json;

// OTLP's numbers of a span's status: unset, error.
constexpr int kUnset = 0;
constexpr int kError = 2;

// 64-bit numbers are strings in the JSON of proto.
Json ToJson(const Attribute& attribute) {
  Json value;
  if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    value["stringValue"] = *text;
  } else {
    value["intValue"] = absl::StrCat(std::get<int64_t>(attribute.value));
  }
  return {{"key", attribute.key}, {"value", std::move(value)}};
}

std::string Nanos(absl::Time time) { return absl::StrCat(absl::ToUnixNanos(time)); }

Json ToJson(const Span& span) {
  Json json = {{"traceId", span.context.TraceId()}, {"spanId", span.context.SpanId()}};
  if (span.parent_span_id != 0)
    json["parentSpanId"] = absl::StrCat(absl::Hex(span.parent_span_id, absl::kZeroPad16));
  json["flags"] = span.context.flags;
  json["name"] = span.name;
  json["kind"] = static_cast<int>(span.kind);
  json["startTimeUnixNano"] = Nanos(span.start);
  json["endTimeUnixNano"] = Nanos(span.end);
  json["attributes"] = Json::array();
  for (const Attribute& attribute : span.attributes)
    json["attributes"].push_back(ToJson(attribute));
  for (const TraceContext& link : span.links) {
    json["links"].push_back(
        {{"traceId", link.TraceId()}, {"spanId", link.SpanId()}, {"flags", link.flags}});
  }
  json["status"] = {{"code", span.failed ? kError : kUnset}};
  if (span.failed) json["status"]["message"] = span.message;
  return json;
}

}  // namespace

std::string ToOtlp(const Service& service, absl::Span<const Span> spans) {
  Json list = Json::array();
  for (const Span& span : spans) list.push_back(ToJson(span));
  Json attributes = Json::array();
  for (const Attribute& attribute :
       {Attribute{"service.name", service.name}, Attribute{"service.version", service.version},
        Attribute{"service.instance.id", service.instance}}) {
    attributes.push_back(ToJson(attribute));
  }
  Json scope = {{"scope", {{"name", "muster"}, {"version", service.version}}}};
  scope["spans"] = std::move(list);
  Json resource = {{"resource", {{"attributes", std::move(attributes)}}}};
  resource["scopeSpans"] = Json::array({std::move(scope)});
  Json request;
  request["resourceSpans"] = Json::array({std::move(resource)});
  return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace muster::trace
