#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/lifecycle/core/types.h"

namespace muster::lifecycle {

// What a mutation of a pool would do, as far as lifecycle's own rows tell. See
// muster.lifecycle.v1.NodePoolPreview.
struct Preview {
  int64_t charge = 0;                     // Nodes charged in the end
  int64_t charge_delta = 0;               // against now
  int64_t more_nodes = 0;                 // to be asked of capacity beyond what it was asked for
  std::vector<std::string> victims = {};  // machines, at most kMaxNamedMachines
  int64_t victim_count = 0;
  int64_t waiting_victims = 0;  // of these: have work that IdleOnly leaves alone
  bool operator==(const Preview&) const = default;
};

// `before`: null for a new pool. `nodes`: the pool's, with the marks that the mutation would make.
Preview PreviewOf(const Pool* before, const Pool& after, const std::vector<const Node*>& nodes);

// Nodes in service that are not booted into `profile`; 0 when it is empty.
int64_t NodesToReboot(const std::vector<const Node*>& nodes, const std::string& profile);

}  // namespace muster::lifecycle
