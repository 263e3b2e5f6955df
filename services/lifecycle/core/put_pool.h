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

// Writes a pool's row. Raises its account's generation when what is asked of quota and capacity
// changes (demand.h), or if `asks_anew`.
void PutPool(StagedState<State>& staged, const Pool& before, Pool after, bool asks_anew = false);

// Gives a pool another spec: a new generation, whose summary says that it was not looked at yet. The
// same spec changes nothing.
void ChangeSpec(Pool& pool, Spec spec, absl::Time now);

// The pool's row after a command.
Outcome PoolOutcome(const State& state, const std::string& name);

// Marks the Nodes of the named machines as the next to go. A mark stands until the Node is gone, the
// target rises (ForgetVictims), or the Node is protected (UpdateNode).
void NameVictims(StagedState<State>& staged, const std::string& pool,
                 const std::vector<std::string>& machines);
void ForgetVictims(StagedState<State>& staged, const std::string& pool);

// The current etag of a row: a cluster's is the revision of its last change, others are etag.h's.
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
