#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/common/error.h"
#include "services/common/state.h"
#include "services/lifecycle/core/commands.h"
#include "services/lifecycle/core/etag.h"
#include "services/lifecycle/core/state.h"

namespace muster::lifecycle {

// Writes a pool's row. Raises its account's generation when what is asked of quota and capacity
// changes (demand.h), or if `asks_anew`.
void PutPool(StagedState<State>& staged, const Pool& before, Pool after, bool asks_anew = false);

// Gives a pool another spec: a new generation, whose summary says that it was not looked at yet.
// The same spec changes nothing.
void ChangeSpec(Pool& pool, Spec spec, absl::Time now);

// The pool's row after a command.
Outcome PoolOutcome(const State& state, const std::string& name);

// Names the Nodes of `machines` as the next to go. `after`: their pool with its new target, not put
// yet. A name stands until the Node is gone, the target rises, or the Node is protected
// (UpdateNode).
//
// A target that is lowered asks Nodes to go that are named, or marked by the cluster autoscaler,
// before it gives up anything else: Nodes that leave already to be replaced, or what is queued.
// They are asked here, once: later nothing tells that the target was lowered for them, and a pool
// whose target is met would keep Nodes for good that are to go. Until they have gone `after` wants
// that many more (PoolAccount::prefill_nodes), so that what comes keeps its place in the queue. Not
// in pools of a `type` that is granted in whole racks: there whole racks go (VictimRacks).
void NameVictims(StagedState<State>& staged, Pool& after, const std::vector<std::string>& machines,
                 const std::optional<TypeFacts>& type, absl::Time now);

// ETAG_MISMATCH unless `etag` is empty or the row's.
template <class Row>
absl::Status CheckEtag(const State& state, const std::string& name, const std::string& etag) {
  if (etag.empty()) return absl::OkStatus();
  const Row* row = state.table<Row>().Find(name);
  const std::string current = row == nullptr ? "" : EtagOf(*row);
  return etag == current ? absl::OkStatus() : muster::error::EtagMismatch(name, etag, current);
}

}  // namespace muster::lifecycle
