#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "storage/postgres/connection_pool.h"
#include "storage/postgres/transaction_runner.h"

namespace muster::storage {

// Which replica reconciles, beat by beat, by the rules of services/lifecycle/core/lease.h and the
// clock of the database: no other clock has a say. The journal learns of takeovers only
// (lifecycle::TakeLease). Thread-safe; blocks.
class LeaseStore {
 public:
  explicit LeaseStore(ConnectOptions connect);

  // Takes the lease when nobody holds it or its time is over, keeps it when `holder` does. Returns
  // its epoch, which grows with every change of holder; 0: another replica holds it. UNAVAILABLE:
  // the database is away. UNKNOWN: it went away before it said whether this was written.
  absl::StatusOr<int64_t> Beat(const std::string& holder, absl::Duration ttl);

  // Whether a replica has it, and its time is not over. UNAVAILABLE: the database is away.
  absl::StatusOr<bool> IsHeld();

  // Gives it up at once, if `holder` has it.
  absl::Status Release(const std::string& holder);

  // Waits for nothing any more.
  void Abort() { runner_.Abort(); }

 private:
  ConnectionPool pool_;
  TransactionRunner runner_;
};

}  // namespace muster::storage
