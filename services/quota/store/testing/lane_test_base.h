#pragma once

// Lanes of the quota domain on a real Postgres, for the tests of the commit lane.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/testing/fake_clock.h"
#include "services/quota/core/decide.h"
#include "services/quota/store/quota_store.h"
#include "storage/postgres/lane.h"
#include "tests/testing/patience.h"
#include "tests/testing/patient.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"

namespace muster::storage {

using Lane = CommitLane<quota::State>;

inline const quota::QuotaKey kKey{"acme", "US-EAST-04A", "gd-8xa100-i128",
                                  quota::ComputeClass::kDefault};

// The quota service's store, of which a test overrides what it is about.
class ForwardingStore : public Store<quota::State> {
 public:
  std::vector<std::string> Kinds() const override { return store_->Kinds(); }
  bool Knows(absl::string_view kind) const override { return store_->Knows(kind); }
  void Load(Transaction& tx, absl::FunctionRef<void(Revised<Change>)> emit) const override {
    store_->Load(tx, emit);
  }
  void Write(StatementSink& out, absl::Span<const Revised<Change>> changes) const override {
    store_->Write(out, changes);
  }
  std::string Encode(const Revised<Change>& change) const override {
    return store_->Encode(change);
  }
  absl::StatusOr<Change> Decode(absl::string_view kind, absl::string_view key,
                                const std::string* bytes) const override {
    return store_->Decode(kind, key, bytes);
  }
  std::unique_ptr<google::protobuf::Message> Parse(absl::string_view kind,
                                                   const std::string& bytes) const override {
    return store_->Parse(kind, bytes);
  }

 private:
  const std::unique_ptr<const Store<quota::State>> store_ = NewQuotaStore();
};

class QuotaLaneTest : public ::testing::Test {
 public:
  explicit QuotaLaneTest(
      const testing::PostgresCluster& cluster = testing::PostgresCluster::Shared())
      : database_({}, cluster) {}
  ~QuotaLaneTest() override {
    for (const auto& lane : lanes_) {
      const auto comparison = lane->Compare();
      EXPECT_THAT(comparison, testing::IsOk());
      if (comparison.ok()) {
        EXPECT_THAT(comparison->differences, ::testing::IsEmpty());
      }
    }
  }

  // `store`, unless null, stands in for the real one.
  Lane& NewLane(LaneOptions options = {}, std::shared_ptr<const Store<quota::State>> store = {}) {
    options.connect.conninfo = database_.conninfo("quota");
    options.connect.schema = "quota";
    auto lane = Lane::Create(testing::Patient(std::move(options)),
                             store != nullptr ? store.get() : store_.get(),
                             database_clock_ ? nullptr : &clock_);
    if (!lane.ok()) throw std::runtime_error(lane.status().ToString());
    lanes_.push_back(*std::move(lane));
    stores_.push_back(std::move(store));
    return *lanes_.back();
  }

  // The end of the snapshot with which the watch begins.
  static WatchItem MarkOf(Watcher& watcher) {
    while (true) {
      std::optional<WatchItem> item = NextOf(watcher);
      if (!item.has_value()) throw std::runtime_error("The watch ended.");
      if (item->type == WatchItem::Type::kSnapshotEnd) return *std::move(item);
    }
  }

  // Submits and waits.
  template <class Command>
  static absl::Status Do(Lane& lane, const Command& command) {
    return DoDecide(lane,
                    [command](StagedState<quota::State>& staged, absl::Time now) -> absl::Status {
                      const auto result = quota::Decide(staged, command, now);
                      if constexpr (std::is_same_v<std::decay_t<decltype(result)>, absl::Status>) {
                        return result;
                      } else {
                        return result.status();
                      }
                    });
  }
  static absl::Status DoDecide(Lane& lane, Lane::Decide decide,
                               absl::Time deadline = absl::InfiniteFuture()) {
    const auto promise = std::make_shared<std::promise<absl::Status>>();
    lane.Submit(
        std::move(decide),
        [promise](const absl::Status& status, int64_t) { promise->set_value(status); }, deadline);
    return testing::Await(promise->get_future(), "a command's answer");
  }
  static absl::StatusOr<int64_t> ReadHeld(Lane& lane) {
    const auto promise = std::make_shared<std::promise<absl::StatusOr<int64_t>>>();
    lane.Read([promise](const absl::Status& status, const quota::State* state, int64_t) {
      if (!status.ok()) return promise->set_value(status);
      promise->set_value(state->Held(QuotaName(kKey)));
    });
    return testing::Await(promise->get_future(), "a read");
  }
  static quota::SyncHolding Want(const std::string& pool, int64_t nodes, int64_t generation = 1) {
    return {QuotaName(kKey), pool, nodes, generation, pool};
  }
  int64_t CountOf(const std::string& table) {
    return std::stoll(database_.QueryValue(absl::StrCat("SELECT count(*) FROM quota.", table)));
  }
  // Waits until the watcher has something or has ended. `seen`: the revisions that it had before,
  // for who looks at a watch that stands still.
  static std::optional<WatchItem> NextOf(Watcher& watcher, const std::vector<int64_t>& seen = {}) {
    while (true) {
      if (auto item = watcher.Next()) return item;
      if (watcher.Ended()) return std::nullopt;
      const auto ready = std::make_shared<std::promise<void>>();
      watcher.NotifyWhenReady([ready] { ready->set_value(); });
      testing::Await(ready->get_future(), absl::StrCat("a watch that had shown the revisions [",
                                                       absl::StrJoin(seen, " "), "]"));
    }
  }

 protected:
  FakeClock clock_;
  bool database_clock_ = false;  // lanes are given none
  testing::TestDatabase database_;
  const std::unique_ptr<const Store<quota::State>> store_ = NewQuotaStore();
  std::vector<std::shared_ptr<const Store<quota::State>>> stores_;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace muster::storage
