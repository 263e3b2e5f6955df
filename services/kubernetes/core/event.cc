#include "services/kubernetes/core/event.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "services/common/cut.h"
#include "services/common/first_edition.h"
#include "services/common/kubernetes_names.h"
#include "services/common/resource_name.h"
#include "services/kubernetes/core/text.h"

namespace muster::kubernetes {
namespace {

namespace v1 = lifecycle::v1;

constexpr size_t kMostNote = 1024;  // bytes, as events.k8s.io/v1 has it
constexpr size_t kMostObjectName = 253;

std::string ReasonOf(const v1::Event& event, Edition edition) {
  if (edition != Edition::kFirst) return event.reason();
  const absl::string_view first = FirstEditionOfEvent(event.reason(), !IsNodeName(event.object()));
  return first.empty() ? event.reason() : std::string(first);
}

Json SeriesOf(const v1::Event& event) {
  return {{"count", std::max<int64_t>(event.count(), 2)},
          {"lastObservedTime", MicroTime(TimeOf(event.last_time()))}};
}

}  // namespace

std::string EventName(const v1::Event& event) {
  const absl::string_view id = LastIdOf(event.name());
  // Sixteen digits until the year 2262.
  const std::string time =
      absl::StrCat(absl::Hex(absl::ToUnixNanos(TimeOf(event.first_time())), absl::kZeroPad16), ".");
  std::string object(
      LastIdOf(event.object()).substr(0, kMostObjectName - 1 - time.size() - id.size()));
  while (!object.empty() && !absl::ascii_isalnum(static_cast<unsigned char>(object.back())))
    object.pop_back();
  return absl::StrCat(time, object, ".", id);
}

Json EventObject(const v1::Event& event, const EventNode& node, const std::string& instance,
                 Edition edition) {
  const bool about_node = IsNodeName(event.object());
  const std::string name =
      about_node && !node.name.empty() ? node.name : std::string(LastIdOf(event.object()));
  Json regarding = {{"kind", about_node ? "Node" : "NodePool"},
                    {"apiVersion", about_node ? "v1" : kNodePoolApiVersion},
                    {"name", name},
                    {"uid", about_node ? (node.uid.empty() ? name : node.uid) : event.pool_uid()}};
  Json object = {{"apiVersion", "events.k8s.io/v1"},
                 {"kind", "Event"},
                 {"metadata", {{"name", EventName(event)}, {"namespace", "default"}}},
                 {"eventTime", MicroTime(TimeOf(event.first_time()))},
                 {"reportingController", kReportingController},
                 {"reportingInstance", Cut(instance, 128)},
                 {"action", event.reason()},
                 {"reason", ReasonOf(event, edition)},
                 {"type", event.type()},
                 {"note", Cut(event.message(), kMostNote)},
                 {"regarding", std::move(regarding)}};
  if (event.count() > 1) object["series"] = SeriesOf(event);
  return object;
}

Json EventSeries(const v1::Event& event) { return {{"series", SeriesOf(event)}}; }

int64_t EventCount(const Json& object) {
  const auto series = object.find("series");
  if (series == object.end() || !series->is_object()) return 1;
  const auto count = series->find("count");
  return count != series->end() && count->is_number_integer() ? count->get<int64_t>() : 1;
}

absl::Time EventLastTime(const Json& object) {
  const absl::Time repeated = TimeOf(MemberOf(object, "series", "lastObservedTime"));
  return std::max(repeated, TimeOf(MemberOf(object, "eventTime")));
}

}  // namespace muster::kubernetes
