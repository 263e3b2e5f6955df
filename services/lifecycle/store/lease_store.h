#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "storage/postgres/connection_pool.h"
#include "storage/postgres/transaction_runner.h"

namespace muster::storage {

// Keeps the heartbeat row that says which replica reconciles, by the rules of
// services/lifecycle/core/lease.h and the clock of the database alone. The journal learns only of
// takeovers (lifecycle::TakeLease). Thread-safe; blocks.
class LeaseStore {
 public:
  explicit LeaseStore(ConnectOptions connect);

  // Takes the lease if nobody holds it or its time is over; extends it if `holder` holds it.
  // Returns its epoch, which grows with every change of holder; 0: another replica holds it.
  // UNAVAILABLE: the database is away. UNKNOWN: it went away before it said whether this was
  // written.
  absl::StatusOr<int64_t> RenewLease(const std::string& holder, absl::Duration ttl);

  // Whether a replica has it, and its time is not over. UNAVAILABLE: the database is away.
  absl::StatusOr<bool> IsHeld();

  // Gives the lease up at once, if `holder` has it. UNAVAILABLE, UNKNOWN: as for RenewLease.
  absl::Status Release(const std::string& holder);

 private:
  ConnectionPool pool_;
  TransactionRunner runner_;
};

}  // namespace muster::storage
