#pragma once

// For tests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "storage/postgres/connection_pool.h"
#include "storage/postgres/table_store.h"
#include "storage/postgres/transaction_runner.h"
#include "tests/testing/patient.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"

namespace muster::storage {

// The lines of a plan that read a whole table: each row of it, or all of an index without end. The
// heads of journals have one row.
inline std::vector<std::string> WholeReads(const std::vector<std::string>& plan) {
  std::vector<std::string> whole;
  for (size_t i = 0; i < plan.size(); ++i) {
    const auto says = [&](size_t at, absl::string_view what) {
      return at < plan.size() && absl::StrContains(plan[at], what);
    };
    if (says(i, "Seq Scan on ") && !says(i, " on journal_head")) whole.push_back(plan[i]);
    // The first row of an index is found at once, if any row will do.
    const bool is_first = i > 0 && says(i - 1, "Limit") && !says(i + 1, "Filter: ");
    if ((says(i, "Index Scan") || says(i, "Index Only Scan")) && !says(i + 1, "Index Cond: ") &&
        !is_first)
      whole.push_back(plan[i]);
    // All that is older.
    if (says(i, "Index Cond: (revision < ")) whole.push_back(plan[i]);
  }
  return whole;
}

// The plans that Postgres keeps of all statements that are prepared on the session, those that read
// a whole table. The plans know no values.
inline std::vector<std::string> PlansThatReadAll(Transaction& tx) {
  tx.Exec("SET LOCAL plan_cache_mode = force_generic_plan");
  std::vector<std::string> bad;
  for (const auto& statement :
       tx.Exec("SELECT name, cardinality(parameter_types) FROM pg_prepared_statements")) {
    const std::vector<std::string> nulls(statement[1].as<size_t>(), "NULL");
    const std::string values =
        nulls.empty() ? "" : absl::StrCat("(", absl::StrJoin(nulls, ", "), ")");
    std::vector<std::string> plan;
    for (const auto& line : tx.Exec(
             absl::StrCat("EXPLAIN (COSTS OFF) EXECUTE \"", statement[0].c_str(), "\"", values)))
      plan.emplace_back(line[0].c_str());
    if (!WholeReads(plan).empty())
      bad.push_back(absl::StrCat(statement[0].c_str(), ":\n", absl::StrJoin(plan, "\n"), "\n"));
  }
  return bad;
}

// Expects that the statements which `prepare` prepares go by an index, though the plans are made
// when it seems least worth it: right after the start, of tables that are known to be empty, or to
// have no more than what the SQL `fill` puts in. Such a plan is kept while they grow.
inline void ExpectGoByIndex(const std::string& schema, const std::string& fill,
                            absl::FunctionRef<void(Transaction&)> prepare) {
  const testing::TestDatabase database;
  database.Execute(absl::StrCat(fill, "; ANALYZE"));
  ConnectionPool pool(
      testing::Patient(ConnectOptions{.conninfo = database.conninfo(schema), .schema = schema}), 1);
  TransactionRunner runner(&pool, testing::Patient(RunnerOptions()));
  EXPECT_THAT(runner.Run([&](Transaction& tx) {
    prepare(tx);
    EXPECT_THAT(PlansThatReadAll(tx), ::testing::IsEmpty());
    return absl::OkStatus();
  }),
              testing::IsOk());
}

// The same of the statements that write a store's tables.
template <class State>
void ExpectWritesByIndex(const Store<State>& store, const std::string& schema) {
  ExpectGoByIndex(schema, "", [&](Transaction& tx) {
    for (const SqlTableText* table : dynamic_cast<const TableStore<State>&>(store).tables()) {
      tx.Exec(absl::StrCat("PREPARE put_", table->name(), " AS ", table->sql().put));
      tx.Exec(absl::StrCat("PREPARE remove_", table->name(), " AS ", table->sql().remove));
    }
  });
}

// The references of a schema's tables that no index goes by: when a row that is referred to goes,
// Postgres reads the whole table that refers to it.
inline std::set<std::string> ReferencesWithoutIndex(const std::string& schema) {
  const testing::TestDatabase database;
  std::set<std::string> without;
  for (const auto& row : database.Query(absl::StrCat(
           "SELECT conname FROM pg_constraint AS c WHERE contype = 'f' AND connamespace = '",
           schema,
           "'::regnamespace AND NOT EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = "
           "c.conrelid AND i.indpred IS NULL AND i.indkey[0] = c.conkey[1])")))
    without.insert(*row[0]);
  return without;
}

}  // namespace muster::storage
