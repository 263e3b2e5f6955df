#pragma once

// For tests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "services/common/state.h"
#include "storage/postgres/connection_pool.h"
#include "storage/postgres/store.h"
#include "storage/postgres/transaction.h"
#include "storage/postgres/transaction_runner.h"
#include "tests/testing/patient.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"

namespace muster::storage {

// A store over the tables of its schema, with a journal that is remembered only.
template <class State>
class StoreTest : public ::testing::Test {
 protected:
  using Changes = std::vector<Revised<typename State::Change>>;

  StoreTest(const std::string& schema, std::unique_ptr<const Store<State>> store)
      : pool_(testing::Patient(
                  ConnectOptions{.conninfo = database_.conninfo(schema), .schema = schema}),
              1),
        runner_(&pool_, testing::Patient(RunnerOptions())),
        store_(std::move(store)) {}

  absl::Status Write(const Changes& changes) {
    return runner_.Run([&](Transaction& tx) {
      store_->Write(tx, changes);
      return absl::OkStatus();
    });
  }

  // As the lane: writes the last change of each key, and remembers all.
  absl::Status Commit(const Changes& changes) {
    std::map<std::pair<std::string, std::string>, Revised<typename State::Change>> last;
    for (const auto& c : changes) last[{std::string(c.change.kind()), c.change.key}] = c;
    Changes rows;
    for (const auto& [key, change] : last) rows.push_back(change);
    const absl::Status status = Write(rows);
    if (status.ok()) journal_.insert(journal_.end(), changes.begin(), changes.end());
    return status;
  }

  State Loaded() {
    State loaded;
    EXPECT_THAT(runner_.Run([&](Transaction& tx) {
      store_->Load(
          tx, [&](Revised<typename State::Change> row) { loaded.Apply(row.change, row.revision); });
      return absl::OkStatus();
    }),
                testing::IsOk());
    return loaded;
  }

  State Replayed() const {
    State replayed;
    for (const auto& entry : journal_) {
      const std::string bytes = entry.change.deleted() ? "" : store_->Encode(entry);
      const auto change = store_->Decode(entry.change.kind(), entry.change.key,
                                         entry.change.deleted() ? nullptr : &bytes);
      EXPECT_THAT(change, testing::IsOk());
      if (change.ok()) replayed.Apply(*change, entry.revision);
    }
    return replayed;
  }

  // Every row as it is stored, with its revision.
  std::map<std::string, std::pair<int64_t, std::string>> ContentsOf(const State& state) const {
    std::map<std::string, std::pair<int64_t, std::string>> contents;
    state.ForEach([&](const Revised<typename State::Change>& row) {
      contents[absl::StrCat(row.change.kind(), " ", row.change.key)] = {row.revision,
                                                                        store_->Encode(row)};
    });
    return contents;
  }

  testing::TestDatabase database_;
  ConnectionPool pool_;
  TransactionRunner runner_;
  const std::unique_ptr<const Store<State>> store_;
  Changes journal_;
};

// The same with a state that the test changes itself.
template <class State>
class StagedStoreTest : public StoreTest<State> {
 protected:
  using StoreTest<State>::StoreTest;

  // Commits what `change` does to the staged state; what is refused never was.
  template <class F>
  absl::Status Put(F change) {
    StagedState<State> staged(state_, revision_);
    change(staged);
    const absl::Status status = this->Commit(staged.changes());
    if (status.ok()) {
      revision_ = staged.revision();
    } else {
      staged.RollBack();
    }
    return status;
  }

  State state_;
  int64_t revision_ = 0;
};

}  // namespace muster::storage
