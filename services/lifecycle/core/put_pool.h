#pragma once

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

// Marks the Nodes of the named machines as the next to go. A mark stands until the Node is gone,
// the target rises (ForgetVictims), or the Node is protected (UpdateNode).
void NameVictims(StagedState<State>& staged, const std::string& pool,
                 const std::vector<std::string>& machines);
void ForgetVictims(StagedState<State>& staged, const std::string& pool);

// ETAG_MISMATCH unless `etag` is empty or the row's.
template <class Row>
absl::Status CheckEtag(const State& state, const std::string& name, const std::string& etag) {
  if (etag.empty()) return absl::OkStatus();
  const Row* row = state.table<Row>().Find(name);
  const std::string current = row == nullptr ? "" : EtagOf(*row);
  return etag == current ? absl::OkStatus() : muster::error::EtagMismatch(name, etag, current);
}

}  // namespace muster::lifecycle
