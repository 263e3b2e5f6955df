#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/objects.h"

namespace muster::kubernetes {

// One v1 Node at an API server, as far as this adapter can tell: who owns which label, which
// annotation and `unschedulable` by server-side apply; merge patches; taints as one list.
class SimulatedNode {
 public:
  explicit SimulatedNode(Json json) : json_(std::move(json)) {
    // Who made it owns what it has.
    for (const char* map : {"labels", "annotations"}) {
      for (const auto& item : json_["metadata"][map].items())
        owners_[Field(map, item.key())].insert("kubelet");
    }
  }

  // With managedFields, as it is read.
  Json json() const {
    Json out = json_;
    Json entries = Json::array();
    std::map<std::string, Json> fields;
    for (const auto& [field, owners] : owners_) {
      for (const std::string& owner : owners) {
        Json& own = fields[owner];
        if (field.first == "unschedulable") {
          own["f:spec"]["f:unschedulable"] = Json::object();
        } else {
          own["f:metadata"]["f:" + field.first]["f:" + field.second] = Json::object();
        }
      }
    }
    for (const auto& [owner, own] : fields) {
      entries.push_back({{"manager", owner},
                         {"operation", owner == kFieldManager ? "Apply" : "Update"},
                         {"fieldsV1", own}});
    }
    // Ours of the taints, by merge patch.
    entries.push_back({{"manager", kFieldManager},
                       {"operation", "Update"},
                       {"fieldsV1", {{"f:spec", {{"f:taints", Json::object()}}}}}});
    out["metadata"]["managedFields"] = entries;
    out["metadata"]["resourceVersion"] = absl::StrCat(version_);
    return out;
  }
  NodeObject Read() const { return ReadNode(json()); }
  int version() const { return version_; }

  // Ours, forced.
  void Apply(const Json& patch) {
    ++version_;
    for (const char* map : {"labels", "annotations"}) {
      const Json wanted = patch["metadata"].value(map, Json::object());
      for (auto& [field, owners] : owners_) {
        if (field.first != map || wanted.contains(field.second)) continue;
        if (owners.erase(kFieldManager) > 0 && owners.empty())
          json_["metadata"][map].erase(field.second);
      }
      for (const auto& item : wanted.items()) Set(kFieldManager, map, item.key(), item.value());
    }
    const Json wanted = patch.value("spec", Json::object());
    if (wanted.contains("unschedulable")) {
      Set(kFieldManager, "unschedulable", "", wanted["unschedulable"]);
    } else if (auto& owners = owners_[Field("unschedulable", "")];
               owners.erase(kFieldManager) > 0 && owners.empty()) {
      json_["spec"].erase("unschedulable");
    }
    Sweep();
  }

  // Our merge patch: taints and their annotation. On the version that it names, or the test is
  // wrong.
  bool Merge(const Json& patch) {
    if (patch["metadata"]["resourceVersion"] != absl::StrCat(version_)) return false;
    if (patch["metadata"]["uid"] != json_["metadata"]["uid"]) return false;
    ++version_;
    json_["spec"]["taints"] = patch["spec"]["taints"];
    const std::string key = kTaintsAnnotation;
    json_["metadata"]["annotations"][key] = patch["metadata"]["annotations"][key];
    return true;
  }

  // Ours of the status, forced. The server shows an empty heartbeat beside.
  void ApplyStatus(const Json& patch) {
    ++version_;
    Json& conditions = json_["status"]["conditions"];
    for (Json wanted : patch["status"]["conditions"]) {
      wanted["lastHeartbeatTime"] = nullptr;
      if (wanted["reason"] == "") wanted.erase("reason");
      bool found = false;
      for (Json& there : conditions) {
        if (there["type"] != wanted["type"]) continue;
        there = wanted;
        found = true;
      }
      if (!found) conditions.push_back(wanted);
    }
  }

  // Somebody else's merge patch of labels, annotations, unschedulable or taints.
  void Edit(const std::string& who, const Json& patch) {
    ++version_;
    for (const char* map : {"labels", "annotations"}) {
      const Json changes = patch.value("metadata", Json::object()).value(map, Json::object());
      for (const auto& item : changes.items()) Set(who, map, item.key(), item.value());
    }
    const Json spec = patch.value("spec", Json::object());
    if (spec.contains("unschedulable")) Set(who, "unschedulable", "", spec["unschedulable"]);
    if (spec.contains("taints")) json_["spec"]["taints"] = spec["taints"];
    Sweep();
  }

  void SetCondition(const std::string& type, const std::string& field, const Json& value) {
    ++version_;
    for (Json& condition : json_["status"]["conditions"]) {
      if (condition["type"] == type) condition[field] = value;
    }
  }

 private:
  using FieldKey = std::pair<std::string, std::string>;  // map and key
  static FieldKey Field(const std::string& map, const std::string& key) { return {map, key}; }

  // Null: it goes. A value that changes is the writer's alone, one that stays is shared by an
  // apply.
  void Set(const std::string& who, const std::string& map, const std::string& key,
           const Json& value) {
    Json& parent = map == "unschedulable" ? json_["spec"] : json_["metadata"][map];
    const std::string& name = map == "unschedulable" ? map : key;
    std::set<std::string>& owners = owners_[Field(map, key)];
    if (value.is_null()) {
      parent.erase(name);
      owners.clear();
      return;
    }
    const bool same = parent.contains(name) && parent[name] == value;
    if (!same) owners.clear();
    if (!same || who == kFieldManager) owners.insert(who);
    parent[name] = value;
  }

  void Sweep() {
    std::erase_if(owners_, [](const auto& entry) { return entry.second.empty(); });
  }

  Json json_;
  std::map<FieldKey, std::set<std::string>> owners_;
  int version_ = 100;
};

}  // namespace muster::kubernetes
