#pragma once

#include <stdexcept>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "storage/postgres/connection_pool.h"
#include "storage/postgres/transaction.h"
#include "storage/postgres/transaction_runner.h"
#include "tests/testing/patient.h"
#include "tests/testing/test_database.h"

namespace muster::storage {

// A database of its own, emptied before each run.
struct FaultBench {
  explicit FaultBench(const std::string& schema_name)
      : schema(schema_name),
        pool(testing::Patient(
                 ConnectOptions{.conninfo = database.conninfo(), .schema = schema_name}),
             1),
        runner(&pool, testing::Patient(RunnerOptions())) {
    for (const auto& row : database.Query(absl::StrCat(
             "SELECT table_name FROM information_schema.tables WHERE table_schema = '", schema,
             "' AND table_name NOT IN ('journal_head', 'schema_migration')"))) {
      if (row[0]->find("migration") != std::string::npos) continue;
      absl::StrAppend(&reset, "DELETE FROM ", *row[0], "; ");
    }
  }
  void Reset() {
    const absl::Status status = runner.Run([&](Transaction& tx) {
      tx.Exec(absl::StrCat("SET LOCAL session_replication_role = replica; ", reset,
                           "UPDATE journal_head SET revision = 0, compacted_revision = 0, "
                           "batch = '', commit_time = to_timestamp(0)"));
      return absl::OkStatus();
    });
    if (!status.ok()) throw std::runtime_error(status.ToString());
  }

  const std::string schema;
  testing::TestDatabase database;
  ConnectionPool pool;
  TransactionRunner runner;
  std::string reset = {};
};

}  // namespace muster::storage
