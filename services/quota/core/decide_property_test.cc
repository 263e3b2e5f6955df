#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/quota/core/audit.h"
#include "services/quota/core/decide.h"
#include "services/quota/core/overrides.h"

// Random workloads: what must hold after every step, whatever happened before.
namespace muster::quota {
namespace {

constexpr unsigned kWorkloads = 10'000;
constexpr int kSteps = 20;

// One request for a holding, before and after.
struct Request {
  SyncHolding command = {};
  absl::Time now = absl::UnixEpoch();
  std::optional<Holding> before = {};
  std::optional<Holding> after = {};
  absl::StatusOr<HoldingOutcome> answer = absl::UnknownError("not decided");
  size_t changes = 0;
};

// Three keys, five pools, limits that change, overrides that come and go.
class Workload {
 public:
  explicit Workload(unsigned seed) : random_(seed) {}

  // Anything but a request.
  void ChangeLimits() {
    StagedState<State> staged(state_, revision_);
    const QuotaKey key = Key();
    if (Pick(3) == 0) now_ += absl::Seconds(Pick(40));
    if (Pick(4) == 0) {
      Decide(staged, DeleteQuota{QuotaName(key), "", true}, now_).IgnoreError();
    } else if (Pick(4) == 0) {
      Decide(staged, CreateQuota{key, Pick(12), Overrides()}, now_).IgnoreError();
    } else if (Pick(3) == 0) {
      Decide(staged, ApplyOverrides{}, now_);
    } else {
      UpdateQuota update{key, {}, "", true};
      if (Pick(2) == 0) update.limit = Pick(12);
      if (Pick(2) == 0) update.overrides = Overrides();
      Decide(staged, update, now_).IgnoreError();
    }
    End(staged);
  }

  SyncHolding Wish() {
    SyncHolding wish{QuotaName(Key()), absl::StrCat("p", Pick(5)), Pick(8), 1 + Pick(40), "p"};
    wish.release = Pick(12) == 0;
    wish.at_least = Pick(8) == 0;
    if (wish.release) wish.nodes = 0;
    return wish;
  }
  Request Send(const SyncHolding& command) {
    const std::string name = ToString(HoldingName{command.quota, command.pool_uid});
    Request request{command, now_, Find(name)};
    StagedState<State> staged(state_, revision_);
    request.answer = Decide(staged, command, now_);
    request.changes = staged.changes().size();
    request.after = Find(name);
    End(staged);
    return request;
  }
  // What fails is taken back as a transaction that failed.
  void Fail(const SyncHolding& command) {
    StagedState<State> staged(state_, revision_);
    Decide(staged, command, now_).IgnoreError();
    staged.RollBack();
  }

  // The names of all keys, whether anybody holds something of them or not.
  static std::vector<std::string> Quotas() {
    std::vector<std::string> names;
    for (int64_t i = 0; i < kKeys; ++i) names.push_back(QuotaName(KeyOf(i)));
    return names;
  }
  const State& state() const { return state_; }
  absl::Time now() const { return now_; }
  int64_t LimitOf(const std::string& quota) const {
    const Quota* row = state_.table<Quota>().Find(quota);
    return row == nullptr ? 0 : LimitAt(*row, now_);
  }
  int64_t Pick(int64_t below) {
    return std::uniform_int_distribution<int64_t>(0, below - 1)(random_);
  }

 private:
  static constexpr int64_t kKeys = 3;
  static QuotaKey KeyOf(int64_t i) {
    return {absl::StrCat("org", i), "US-EAST-04A", "t", ComputeClass::kDefault};
  }
  QuotaKey Key() { return KeyOf(Pick(kKeys)); }
  std::vector<LimitOverride> Overrides() {
    std::vector<LimitOverride> overrides;
    absl::Time at = now_ - absl::Seconds(Pick(20));
    for (int64_t left = Pick(4); left > 0; --left) {
      const absl::Time effective = at + absl::Seconds(Pick(20));
      at = effective + absl::Seconds(1 + Pick(20));
      overrides.push_back({Pick(16), effective, at, ""});
    }
    return overrides;
  }
  std::optional<Holding> Find(const std::string& name) const {
    const Holding* row = state_.table<Holding>().Find(name);
    return row == nullptr ? std::nullopt : std::optional(*row);
  }
  void End(const StagedState<State>& staged) { revision_ = staged.revision(); }

  std::mt19937 random_;
  State state_;
  int64_t revision_ = 0;
  absl::Time now_ = absl::FromUnixSeconds(1'750'000'000);
};

void ForEachStep(const std::function<void(Workload&)>& step) {
  for (unsigned seed = 0; seed < kWorkloads; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Workload workload(seed);
    for (int i = 0; i < kSteps; ++i) {
      if (workload.Pick(4) == 0) workload.ChangeLimits();
      step(workload);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(QuotaProperties, NothingGrowsOverTheLimitThatIsInForce) {
  int granted = 0;
  int refused = 0;
  ForEachStep([&](Workload& workload) {
    const SyncHolding wish = workload.Wish();
    const int64_t held = workload.state().Held(wish.quota);
    const Request request = workload.Send(wish);
    if (workload.state().Held(wish.quota) > held) {
      ++granted;
      ASSERT_LE(workload.state().Held(wish.quota), workload.LimitOf(wish.quota));
    }
    if (request.answer.ok() && request.answer->refused) {
      ++refused;
      ASSERT_GT(held + wish.nodes - (request.before ? request.before->nodes : 0),
                workload.LimitOf(wish.quota))
          << "it would have fitted";
    }
  });
  // The workloads show something only if both happen often.
  EXPECT_GT(granted, 10'000);
  EXPECT_GT(refused, 10'000);
}

TEST(QuotaProperties, ARequestSentTwiceHasTheEffectOfOne) {
  ForEachStep([](Workload& workload) {
    const Request first = workload.Send(workload.Wish());
    const Request second = workload.Send(first.command);
    ASSERT_EQ(second.changes, 0u);
    ASSERT_EQ(first.answer.status(), second.answer.status());
    if (!first.answer.ok()) return;
    ASSERT_EQ(first.answer->verdict, second.answer->verdict);
    ASSERT_EQ(first.answer->nodes, second.answer->nodes);
    ASSERT_EQ(first.answer->held, second.answer->held);
    ASSERT_EQ(first.answer->refused, second.answer->refused);
  });
}

// Sum and order of every key's holders are what the rows say, also after something was taken back.
TEST(QuotaProperties, NothingIsLost) {
  ForEachStep([](Workload& workload) {
    workload.Fail(workload.Wish());
    workload.Send(workload.Wish());
    std::map<std::string, int64_t> held;
    std::map<std::string, std::vector<std::tuple<int64_t, std::string, int64_t>>> holders;
    for (const auto& [name, holding] : workload.state().table<Holding>().rows()) {
      const Holding& row = *holding.row;
      held[row.quota] += row.nodes;
      if (row.nodes > 0) holders[row.quota].emplace_back(-row.nodes, row.pool_uid, row.nodes);
    }
    for (const std::string& quota : Workload::Quotas()) {
      auto& wanted = holders[quota];
      std::sort(wanted.begin(), wanted.end());
      const Holders told = workload.state().UseOf(quota).HoldersBeside("", 0, 100);
      ASSERT_EQ(workload.state().Held(quota), held[quota]);
      ASSERT_EQ(told.largest.size(), wanted.size());
      ASSERT_EQ(told.others, 0);
      ASSERT_EQ(told.other_nodes, 0);
      for (size_t i = 0; i < wanted.size(); ++i) {
        ASSERT_EQ(told.largest[i].pool_uid, std::get<1>(wanted[i]));
        ASSERT_EQ(told.largest[i].nodes, std::get<2>(wanted[i]));
      }
    }
  });
}

TEST(QuotaProperties, AnOlderGenerationNeverWins) {
  int older = 0;
  ForEachStep([&](Workload& workload) {
    const SyncHolding wish = workload.Wish();
    const bool late = !wish.release && FindReleased(workload.state(), wish.pool_uid) != nullptr;
    const Request request = workload.Send(wish);
    if (late) {
      ASSERT_TRUE(absl::IsFailedPrecondition(request.answer.status()));
      return;
    }
    if (request.before && request.command.generation < request.before->generation) {
      ++older;
      ASSERT_TRUE(absl::IsAborted(request.answer.status()));
      ASSERT_EQ(request.changes, 0u);
      return;
    }
    ASSERT_TRUE(request.answer.ok());
    if (!request.command.release) {
      ASSERT_EQ(request.after->generation, request.command.generation);
    }
  });
  EXPECT_GT(older, 10'000);
}

// Whatever comes late: nothing is charged to a pool that was released.
TEST(QuotaProperties, WhatWasReleasedDoesNotComeBack) {
  int late = 0;
  ForEachStep([&](Workload& workload) {
    const SyncHolding wish = workload.Wish();
    const bool released = FindReleased(workload.state(), wish.pool_uid) != nullptr;
    const Request request = workload.Send(wish);
    ASSERT_THAT(Audit(workload.state()), ::testing::IsEmpty());
    if (request.answer.ok() && wish.release) {
      ASSERT_FALSE(request.after.has_value());
      ASSERT_NE(FindReleased(workload.state(), wish.pool_uid), nullptr);
    }
    if (!released || wish.release) return;
    ++late;
    ASSERT_EQ(error::ReasonOf(request.answer.status()), "POOL_RELEASED");
    ASSERT_EQ(request.changes, 0u);
    ASSERT_EQ(request.before, request.after);
  });
  EXPECT_GT(late, 10'000);
}

TEST(QuotaProperties, ARefusedGrowthChangesNothingButTheGeneration) {
  ForEachStep([](Workload& workload) {
    const Request request = workload.Send(workload.Wish());
    if (!request.answer.ok() || !request.answer->refused) return;
    Holding wanted = request.before.value_or(
        Holding{request.command.quota, request.command.pool_uid, 0, 0, "p", request.now});
    wanted.generation = request.command.generation;
    ASSERT_EQ(*request.after, wanted);
    ASSERT_LE(request.changes, 1u);
  });
}

// Whatever was applied before: once applied up to now, the rows say what decisions see, and the
// next change lies ahead.
TEST(QuotaProperties, SettlingBringsTheRowsUpToTheClockOnce) {
  int applied = 0;
  ForEachStep([&](Workload& workload) {
    workload.ChangeLimits();
    State state = workload.state();
    StagedState<State> staged(state, 0);
    applied += static_cast<int>(Decide(staged, ApplyOverrides{}, workload.now()));
    ASSERT_GT(state.NextChangeOfAll(), workload.now());
    for (const auto& [name, quota] : state.table<Quota>().rows()) {
      ASSERT_EQ(LimitInForce(*quota.row), LimitAt(*quota.row, workload.now()));
      ASSERT_EQ(LimitInForce(*quota.row), workload.LimitOf(name)) << "settling changed a limit";
    }
    ASSERT_EQ(Decide(staged, ApplyOverrides{}, workload.now()), 0u);
  });
  EXPECT_GT(applied, 1'000);
}

}  // namespace
}  // namespace muster::quota
