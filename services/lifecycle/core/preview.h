#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/lifecycle/core/snapshot.h"
#include "services/lifecycle/core/state.h"

namespace muster::lifecycle {

// What a mutation of a pool would do. See muster.lifecycle.v1.NodePoolPreview.
struct Preview {
  int64_t charge = 0;        // Nodes charged in the end
  int64_t charge_delta = 0;  // against now
  int64_t more_nodes = 0;    // asked of capacity beyond what it was asked for
  // What capacity says once it is asked for them; only with more_nodes.
  Answer<ClaimAnswer> claim = {};
  std::string capacity = {};              // the message of the pool's condition then
  std::vector<std::string> victims = {};  // machines, at most kMaxNamedMachines
  int64_t victim_count = 0;
  int64_t waiting_victims = 0;  // of these: have work that IdleOnly leaves alone
  std::string active = {};      // profile ids; empty: none or not known
  std::string pending = {};
  int64_t nodes_to_reboot = 0;
};

// A mutation's consequences, gone through with the very demand, plans and commands that would carry
// it out, on rows of its own that nobody else sees: previews and what then happens cannot differ.
// Pass by pass, each with what the other services would answer, as far as they are asked before
// agents must act.
class Rehearsal {
 public:
  // At most as many passes as it takes to publish a pool, charge it and ask for its machines.
  static constexpr int kPasses = 4;

  // `before`: null for a new pool. `nodes`: the pool's, with the marks that the mutation would
  // make.
  Rehearsal(const Cluster& cluster, const Pool* before, const Pool& after,
            const std::vector<Node>& nodes);

  // The rows as they are by now.
  const State& state() const { return state_; }
  // Carries out the plan of a snapshot of state(). True: another pass would ask for something else.
  bool Pass(const Snapshot& snapshot);
  Preview Told() const;

 private:
  void TellVictims(const Snapshot& snapshot);

  Pool last_;  // as the last pass left it
  int64_t charged_before_ = 0;
  int64_t asked_before_ = 0;  // of capacity, or held already
  State state_;
  int64_t revision_ = 0;
  bool first_ = true;
  int64_t asked_ = 0;  // of capacity, by the last pass
  Preview told_;
};

}  // namespace muster::lifecycle
