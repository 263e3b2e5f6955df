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

// What is said of a spot pool of a superchip type.
std::string NoSpotOnSuperchip(const TypeFacts& type);

using Faults = muster::error::Faults;

// Adds what is wrong with a spec whatever the state is, in the order of its fields; paths as
// manifests have them (`spec.image.kernel`). `target`: as given; nullopt: missing. Of lists that
// are too long only that is said. Takes as long as the spec is large: not for the lane's thread.
void ValidateSpec(const Spec& spec, std::optional<int64_t> target, Faults& faults);

// Adds what of a spec does not fit what there is. `before`: the pool's spec, null for a new pool.
// `type`: null when unknown; what depends on it is then not judged. Looks at no list.
void ValidateFit(const Spec& spec, std::optional<int64_t> target, const Spec* before,
                 const TypeFacts* type, Faults& faults);

// Adds the labels and taints that others keep on v1 Nodes themselves. `before`: as for ValidateFit; what it
// has may stay, a release before took it.
void ValidateForeignKeys(const Spec& spec, const Spec* before, Faults& faults);

// Adds the faults of a target of its own, and of one for a pool that has this spec.
void ValidateTarget(std::optional<int64_t> target, Faults& faults);
void ValidateAutoscaledTarget(const Spec& spec, int64_t target, Faults& faults);

// 0 to the most Nodes a pool can have.
void ValidateCount(absl::string_view field, int64_t value, Faults& faults);

// Adds every fault of a cluster's own fields. `name` must be well-formed.
void ValidateCluster(const Cluster& cluster, Faults& faults);

}  // namespace muster::lifecycle
