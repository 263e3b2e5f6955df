#pragma once

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "services/common/state.h"
#include "storage/postgres/journal.h"
#include "storage/postgres/lane_db.h"
#include "storage/postgres/store.h"

namespace muster::storage {

// As the store's Load, but the session may idle for longer while rows are taken in: half a minute
// between two tables for 100,000 Nodes.
template <class State>
void LoadTables(const Store<State>& store, const LaneOptions& options, Transaction& tx,
                absl::FunctionRef<void(Revised<typename State::Change>)> emit) {
  constexpr absl::Duration kPatience = absl::Minutes(2);
  journal::SetIdleTimeout(tx, kPatience);
  store.Load(tx, emit);
  journal::SetIdleTimeout(tx, options.connect.idle_in_transaction_timeout);
}

}  // namespace muster::storage
