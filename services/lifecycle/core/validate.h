#pragma once

#include <optional>
#include <string>

#include "services/common/faults.h"
#include "services/lifecycle/core/types.h"

// What is refused at the API (semantics 2).
namespace muster::lifecycle {

// What the catalogue says of an instance type, as far as pools care.
struct TypeFacts {
  std::string id = {};
  int32_t gpus = 0;
  bool superchip = false;
  int32_t nodes_per_rack = 0;  // 0: not granted by racks
  bool operator==(const TypeFacts&) const = default;
};

using Faults = muster::error::Faults;

// Adds every fault of a spec, in the order of its fields; paths as manifests have them
// (`spec.image.kernel`). `before`: the pool's spec, null for a new pool. `target`: as given;
// nullopt: missing. `type`: null when unknown; what depends on it is then not judged. Of lists that
// are too long only that is said.
void ValidateSpec(const Spec& spec, std::optional<int64_t> target, const Spec* before,
                  const TypeFacts* type, Faults& faults);

// Adds every fault of a cluster's own fields. `name` must be well-formed.
void ValidateCluster(const Cluster& cluster, Faults& faults);

// A Kubernetes qualified name: an optional DNS subdomain and `/`, then 1 to 63 letters, digits,
// `-`, `_`, `.`, that begins and ends with a letter or digit.
bool IsQualifiedName(absl::string_view text);
// A Kubernetes label value: empty, or the same as the name part above.
bool IsLabelValue(absl::string_view text);

}  // namespace muster::lifecycle
