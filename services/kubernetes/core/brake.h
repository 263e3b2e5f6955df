#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"

// Whether what one side does not know may go from the other.
//
// Each side's absences are removals on the other: a NodePool whose object is gone without its
// finalizer goes from Muster, with its Nodes; a v1 Node that Muster does not know goes from the
// cluster. One or two of them are somebody's doing. Many at once are a restored database, a cloned
// cluster or a fault, and are held until an operator says so.
namespace muster::kubernetes {

struct BrakeLimits {
  // How many pass without an order: `count`, or `percent` of all there are, whichever is more.
  int64_t count = 5;
  int64_t percent = 10;
};

// For so long what passed without an order counts against the limits.
inline constexpr absl::Duration kBrakeWindow = absl::Minutes(10);

// NodePools and Nodes; the Nodes of the NodePools are among `nodes`.
struct Removals {
  int64_t node_pools = 0;
  int64_t nodes = 0;
  bool empty() const { return node_pools == 0 && nodes == 0; }
  Removals operator+(const Removals& other) const {
    return {node_pools + other.node_pools, nodes + other.nodes};
  }
  Removals operator-(const Removals& other) const {
    return {node_pools - other.node_pools, nodes - other.nodes};
  }
  bool operator==(const Removals&) const = default;
};

// Of one kind: NodePools of Muster's, or v1 Nodes.
struct BrakeFacts {
  Removals would_go = {};
  Removals went = {};     // unasked, within kBrakeWindow
  Removals all = {};      // that there are
  Removals allowed = {};  // by an order that is in force
};

enum class BrakeVerdict { kPass, kPassByOrder, kHold };
// Lets all that would go pass, or nothing.
BrakeVerdict JudgeRemovals(const BrakeFacts& facts, const BrakeLimits& limits);

// The command of musterctl that lets them go. `cluster`: its whole name, so that the command is of
// this cluster whatever organization musterctl is set to.
std::string ReleasingCommand(const std::string& cluster, const Removals& held);

}  // namespace muster::kubernetes
