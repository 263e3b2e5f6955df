#pragma once

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/state.h"
#include "services/lifecycle/core/commands.h"
#include "services/lifecycle/core/etag.h"
#include "services/lifecycle/core/state.h"

namespace muster::lifecycle {

// Writes a pool's row. Its account gets a new generation when what is asked of quota and capacity
// changes (demand.h), or `asks_anew` says so.
void PutPool(StagedState<State>& staged, const Pool& before, Pool after, bool asks_anew = false);

// Gives a pool another spec: a new generation, of which nothing is known yet. The same spec changes nothing.
void ChangeSpec(Pool& pool, Spec spec, absl::Time now);

// The pool's row after a command.
Outcome PoolOutcome(const State& state, const std::string& name);

// Marks those Nodes of the pool whose machines are named as the next to go. Names stand until the
// Node left, or the target rose (ForgetVictims), or the Node was taken back by name (UpdateNode).
void NameVictims(StagedState<State>& staged, const std::string& pool,
                 const std::vector<std::string>& machines);
void ForgetVictims(StagedState<State>& staged, const std::string& pool);

// The etag of a row: of what its owner writes (etag.h), or of all of it.
inline std::string CurrentEtag(const Versioned<Cluster>& cluster) {
  return absl::StrCat(cluster.revision);
}
template <class Row>
std::string CurrentEtag(const Versioned<Row>& row) {
  return EtagOf(*row.row);
}

// ETAG_MISMATCH unless `etag` is empty or the row's.
template <class Row>
absl::Status CheckEtag(const State& state, const std::string& name, const std::string& etag) {
  if (etag.empty()) return absl::OkStatus();
  const Versioned<Row>* row = state.table<Row>().FindVersioned(name);
  const std::string current = row == nullptr ? "" : CurrentEtag(*row);
  return etag == current ? absl::OkStatus() : muster::error::EtagMismatch(name, etag, current);
}

}  // namespace muster::lifecycle
