#pragma once

// For tests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "storage/postgres/connection_pool.h"
#include "storage/postgres/table_store.h"
#include "storage/postgres/transaction_runner.h"
#include "tests/testing/patient.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"

namespace muster::storage {

// `table.column type` of all tables of a schema but those of the lane and the lease, which are no
// rows of the state.
inline std::set<std::string> ColumnsInDatabase(const std::string& schema) {
  testing::TestDatabase database;
  ConnectionPool pool(
      testing::Patient(ConnectOptions{.conninfo = database.conninfo(schema), .schema = schema}), 1);
  TransactionRunner runner(&pool, testing::Patient(RunnerOptions()));
  std::set<std::string> columns;
  EXPECT_THAT(runner.Run([&](Transaction& tx) {
    for (const auto& row : tx.Exec(absl::StrCat(
             "SELECT c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, NULL) "
             "FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid "
             "WHERE c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped AND "
             "c.relnamespace = '",
             schema,
             "'::regnamespace AND c.relname NOT IN ('journal', 'journal_author', 'journal_head', "
             "'lease_heartbeat', 'schema_migration')")))
      columns.insert(row[0].c_str());
    return absl::OkStatus();
  }),
              testing::IsOk());
  return columns;
}

// Holds the descriptions of a store's tables against the schema that the migrations make: no column
// is forgotten, none is made up, none has another type.
template <class State>
void ExpectDescribesSchema(const Store<State>& store, const std::string& schema) {
  std::set<std::string> described;
  for (const SqlTableText* table : dynamic_cast<const TableStore<State>&>(store).tables()) {
    for (const SqlColumnText& column : table->columns())
      described.insert(absl::StrCat(table->name(), ".", column.name, " ", column.type));
  }
  const std::set<std::string> columns = ColumnsInDatabase(schema);
  std::vector<std::string> differences;
  std::set_symmetric_difference(described.begin(), described.end(), columns.begin(), columns.end(),
                                std::back_inserter(differences));
  EXPECT_THAT(differences, ::testing::IsEmpty());
}

}  // namespace muster::storage
