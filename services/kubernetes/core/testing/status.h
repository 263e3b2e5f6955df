#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/kubernetes/core/status.h"
#include "services/kubernetes/core/testing/objects.h"

// Pools, objects and statuses for tests.
namespace muster::kubernetes {

namespace v1 = lifecycle::v1;

inline constexpr char kTime[] = "2025-05-30T17:36:00Z";
inline constexpr char kLater[] = "2025-05-30T17:37:00Z";

inline absl::Time Now() { return Then() + absl::Minutes(1); }

// The reference's healthy pool.
inline v1::NodePool HealthyPool() {
  v1::NodePool pool;
  pool.set_uid("9311678d-4064-45b8-8439-b943250e5852");
  pool.set_generation(1);
  pool.set_object_generation(1);
  v1::NodePoolStatus& status = *pool.mutable_status();
  status.set_current_nodes(1);
  const auto put = [&](const char* type, const char* word, const char* reason,
                       const char* message) {
    *status.add_conditions() = MakeCondition(type, word, reason, message);
  };
  put("Validated", "True", "Valid", "NodePool configuration is valid.");
  put("Capacity", "True", "Sufficient",
      "Sufficient capacity available for the requested instance type.");
  put("Quota", "True", "Under", "NodePool is within instance type quota.");
  put("AtTarget", "True", "TargetMet", "NodePool has reached its target node count.");
  put("NodeReconfigurationRequired", "False", "AllNodesUpToDate",
      "All nodes are on the current configuration.");
  return pool;
}

inline NodePoolObject MakeObject(int64_t generation, Json status = Json::object()) {
  NodePoolObject object;
  object.name = "example-nodepool";
  object.uid = "9311678d-4064-45b8-8439-b943250e5852";
  object.generation = generation;
  object.status = std::move(status);
  return object;
}

inline Json Desired(const NodePoolObject& object, const v1::NodePool* pool,
                    Edition edition = Edition::kCurrent, std::optional<Refusal> refusal = {},
                    Synced synced = {}) {
  const auto status = DesiredStatus(
      {.object = &object, .pool = pool, .refusal = refusal, .edition = edition, .synced = synced},
      Now());
  return status.value_or(Json());
}

inline std::vector<std::string> Types(const Json& status) {
  std::vector<std::string> types;
  for (const Json& condition : status["conditions"])
    types.push_back(condition["type"].get<std::string>());
  return types;
}

inline Json Find(const Json& status, const std::string& type) {
  for (const Json& condition : status["conditions"]) {
    if (condition["type"] == type) return condition;
  }
  return nullptr;
}

// What a server-side apply of `desired` makes of a status, as far as the API server's rules go: a
// list-map by type, fields that we owned and send no more go.
inline Json Merge(const Json& status, const Json& before, const Json& desired) {
  Json out = status;
  for (const auto& item : before.items()) {
    if (item.key() != "conditions" && !desired.contains(item.key())) out.erase(item.key());
  }
  Json conditions = Json::array();
  const Json none = Json::array();
  for (const Json& there : status.contains("conditions") ? status["conditions"] : none) {
    const std::string type = there["type"];
    const bool ours = before.contains("conditions") && !Find(before, type).is_null();
    if (!ours && Find(desired, type).is_null()) conditions.push_back(there);
  }
  for (const Json& condition : desired["conditions"]) conditions.push_back(condition);
  for (const auto& item : desired.items()) out[item.key()] = item.value();
  out["conditions"] = conditions;
  return out;
}

}  // namespace muster::kubernetes
