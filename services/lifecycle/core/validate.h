#pragma once

#include <optional>
#include <string>

#include "services/common/faults.h"
#include "services/lifecycle/core/types.h"

// What is refused at the API.
namespace muster::lifecycle {

// What the catalogue says of an instance type, as far as pools care.
struct TypeFacts {
  std::string id = {};
  int32_t gpus = 0;
  bool superchip = false;
  int32_t nodes_per_rack = 0;  // 0: not granted by racks
  bool operator==(const TypeFacts&) const = default;
};

// The fault of a spot pool of a superchip type, in words.
std::string NoSpotOnSuperchip(const TypeFacts& type);

using Faults = muster::error::Faults;

// Adds the faults of a spec that do not depend on the state, in the order of its fields; paths as
// manifests have them (`spec.image.kernel`). `target`: as given; nullopt: missing. A list that is
// too long is not looked into. Takes as long as the spec is large: not for the lane's thread.
void ValidateSpec(const Spec& spec, std::optional<int64_t> target, Faults& faults);

// Adds what does not fit the pool as it is and the type's facts. `before`: the pool's spec, null
// for a new pool. `type`: null when unknown; what depends on it is then not judged. Looks at no
// list.
void ValidateFit(const Spec& spec, std::optional<int64_t> target, const Spec* before,
                 const TypeFacts* type, Faults& faults);

// Adds the labels, annotations and taints of the spec that Kubernetes or the autoscaler keep on v1
// Nodes themselves. `before`: as for ValidateFit; what it has already may stay, because an earlier
// release accepted it.
void ValidateForeignKeys(const Spec& spec, const Spec* before, Faults& faults);

// ValidateTarget: faults of a target by itself. ValidateAutoscaledTarget: those of a target for a
// pool that has this spec.
void ValidateTarget(std::optional<int64_t> target, Faults& faults);
void ValidateAutoscaledTarget(const Spec& spec, int64_t target, Faults& faults);

// Adds a fault unless `value` is between 0 and the most Nodes that a pool can have.
void ValidateCount(absl::string_view field, int64_t value, Faults& faults);

// Adds every fault of a cluster's own fields. `name` must be well-formed.
void ValidateCluster(const Cluster& cluster, Faults& faults);

}  // namespace muster::lifecycle
