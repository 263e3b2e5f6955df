#pragma once

#include <utility>

#include "absl/time/time.h"
#include "storage/postgres/connection_pool.h"
#include "storage/postgres/lane_db.h"
#include "storage/postgres/transaction_runner.h"

// Makes a minute of each timeout that a test left as it usually is, so that a busy machine does not
// fail the test. What a test has set itself stays.
namespace muster::testing {

inline void LengthenIfUsual(absl::Duration& now, absl::Duration usual) {
  if (now == usual) now = absl::Minutes(1);
}

inline storage::ConnectOptions Patient(storage::ConnectOptions options) {
  const storage::ConnectOptions usual;
  LengthenIfUsual(options.connect_timeout, usual.connect_timeout);
  LengthenIfUsual(options.statement_timeout, usual.statement_timeout);
  LengthenIfUsual(options.idle_in_transaction_timeout, usual.idle_in_transaction_timeout);
  return options;
}

inline storage::RunnerOptions Patient(storage::RunnerOptions options) {
  LengthenIfUsual(options.retry_budget, storage::RunnerOptions().retry_budget);
  return options;
}

inline storage::LaneOptions Patient(storage::LaneOptions options) {
  options.connect = Patient(std::move(options.connect));
  options.runner = Patient(std::move(options.runner));
  LengthenIfUsual(options.max_decide, storage::LaneOptions().max_decide);
  LengthenIfUsual(options.late_reader, storage::LaneOptions().late_reader);
  return options;
}

}  // namespace muster::testing
