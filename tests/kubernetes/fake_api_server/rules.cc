#include "tests/kubernetes/fake_api_server/rules.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/kubernetes/fake_api_server/refusal.h"

namespace muster::testing {
namespace {

using Json = nlohmann::json;

constexpr size_t kLongestNote = 1024;
constexpr size_t kLongestWord = 128;

Json At(const Json& object, const char* pointer) {
  return object.value(Json::json_pointer(pointer), Json());
}

bool IsTime(const Json& value) {
  absl::Time time;
  std::string error;
  return value.is_string() &&
         absl::ParseTime(absl::RFC3339_full, value.get<std::string>(), &time, &error);
}

void CheckSeries(const Json& series, std::vector<Invalid>& faults) {
  if (series.is_null()) return;
  if (series.value("count", 0) < 2)
    faults.push_back({"series.count", "Invalid value: should be at least 2"});
  if (!IsTime(series.value("lastObservedTime", Json())))
    faults.push_back({"series.lastObservedTime", "Required value"});
}

void CheckNewEvent(const Json& event, std::vector<Invalid>& faults) {
  for (const char* word : {"reportingController", "reportingInstance", "action", "reason"}) {
    const std::string text = event.value(word, "");
    if (text.empty()) faults.push_back({word, "Required value"});
    if (text.size() > kLongestWord)
      faults.push_back({word, absl::StrCat("can have at most ", kLongestWord, " characters")});
  }
  const std::string type = event.value("type", "");
  if (type != "Normal" && type != "Warning")
    faults.push_back({"type", absl::StrCat("Invalid value: \"", type, "\"")});
  if (!IsTime(event.value("eventTime", Json()))) faults.push_back({"eventTime", "Required value"});
  if (event.value("note", "").size() > kLongestNote)
    faults.push_back({"note", absl::StrCat("can have at most ", kLongestNote, " characters")});
  const std::string space = At(event, "/metadata/namespace").get<std::string>();
  const Json regarding = At(event, "/regarding/namespace");
  const bool fits = regarding.is_string() && regarding != ""
                        ? regarding == space
                        : space == "default" || space == "kube-system";
  if (!fits)
    faults.push_back({"involvedObject.namespace", "Invalid value: does not match event.namespace"});
}

void CheckEvent(const Json& before, const Json& after, std::vector<Invalid>& faults) {
  const Json series = after.value("series", Json());
  if (before.is_null()) {
    CheckNewEvent(after, faults);
    CheckSeries(series, faults);
    return;
  }
  if (before.value("series", Json()) != series) CheckSeries(series, faults);
  for (const char* field : {"eventTime", "reportingController", "reportingInstance", "action",
                            "reason", "regarding", "related", "note", "type"}) {
    if (before.value(field, Json()) != after.value(field, Json()))
      faults.push_back({field, "Invalid value: field is immutable"});
  }
}

// While it goes, an object gets no new finalizers.
void CheckFinalizers(const Json& before, const Json& after, std::vector<Invalid>& faults) {
  if (before.is_null() || !before.at("metadata").contains("deletionTimestamp")) return;
  const Json known = before.at("metadata").value("finalizers", Json::array());
  for (const Json& each : after.at("metadata").value("finalizers", Json::array())) {
    if (std::find(known.begin(), known.end(), each) == known.end())
      faults.push_back({"metadata.finalizers",
                        "Forbidden: no new finalizers can be added if the object is being "
                        "deleted"});
  }
}

void CheckNode(const Json& node, std::vector<Invalid>& faults) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const Json& taint : node.value("spec", Json::object()).value("taints", Json::array())) {
    const std::string effect = taint.value("effect", "");
    if (taint.value("key", "").empty())
      faults.push_back({"metadata.taints[0].key", "name part must be non-empty"});
    if (effect != "NoSchedule" && effect != "PreferNoSchedule" && effect != "NoExecute")
      faults.push_back(
          {"metadata.taints[0].effect", absl::StrCat("Unsupported value: \"", effect, "\"")});
    if (!seen.emplace(taint.value("key", ""), effect).second)
      faults.push_back(
          {"metadata.taints[0]", absl::StrCat("Duplicate value: ", taint.dump(),
                                              ": taints must be unique by key and effect pair")});
  }
}

}  // namespace

void Validate(const Resource& resource, const std::string& name, const Json& before,
              const Json& after) {
  std::vector<Invalid> faults;
  const absl::string_view kind = resource.kind;
  if (kind == "Event") CheckEvent(before, after, faults);
  if (kind == "Node") CheckNode(after, faults);
  CheckFinalizers(before, after, faults);
  for (const char* map : {"labels", "annotations"}) {
    const Json entries = after.at("metadata").value(map, Json::object());
    for (const auto& [key, value] : entries.items()) {
      if (!value.is_string())
        throw BadRequest(absl::StrCat("metadata.", map, ".", key, " is not a string"));
    }
  }
  if (!faults.empty()) throw Unprocessable(kind, name, faults);
}

}  // namespace muster::testing
