#include "tests/model/quota_model.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "services/common/error.h"
#include "services/quota/core/decide.h"

// The core of quota against its model, over random histories.
namespace muster::model {
namespace {

constexpr uint32_t kHistories = 10'000;
constexpr int kQuotaSteps = 40;

class QuotaHistory {
 public:
  explicit QuotaHistory(uint32_t seed) : random_(seed) {}

  void Step() {
    now_ += absl::Seconds(Roll(3));
    switch (Roll(8)) {
      case 0:
        return Limit();
      case 1:
        return Restart();
      default:
        return Sync();
    }
  }

 private:
  int64_t Roll(int sides) { return std::uniform_int_distribution<int>(0, sides - 1)(random_); }

  // Two organizations; a row of its own for spot.
  quota::QuotaKey SomeKey() {
    return {absl::StrCat("org", Roll(2)), "US-EAST-04A", "gd-8xa100-i128",
            Roll(3) == 0 ? quota::ComputeClass::kSpot : quota::ComputeClass::kDefault};
  }

  template <class Command>
  auto Do(const Command& command) {
    StagedState<quota::State> staged(state_, revision_);
    auto outcome = Decide(staged, command, now_);
    revision_ = staged.revision();
    return outcome;
  }

  void Limit() {
    const quota::QuotaKey key = SomeKey();
    const std::string name = QuotaName(key);
    if (Roll(4) == 0) {
      Do(quota::DeleteQuota{name, "", true}).IgnoreError();
      return model_.DropLimit(name);
    }
    quota::UpdateQuota update{key, Roll(5) == 0 ? 0 : Roll(14), "", true};
    Do(update).IgnoreError();
    model_.SetLimit(name, *update.limit);
  }

  QuotaAsk SomeAsk() {
    QuotaAsk ask{QuotaName(SomeKey()), absl::StrCat("p", Roll(5), "-", Roll(3))};
    // Mostly newer than the last one, sometimes late, never other than it under its number.
    ask.generation = model_.GenerationOf(ask.quota, ask.pool) + (Roll(6) == 0 ? -Roll(3) : 1);
    if (ask.generation == model_.GenerationOf(ask.quota, ask.pool)) ++ask.generation;
    ask.generation = std::max<int64_t>(ask.generation, 1);
    ask.release = Roll(20) == 0;
    ask.nodes = ask.release ? 0 : Roll(8);
    return ask;
  }

  void Sync() {
    if (last_.generation == 0 || Roll(6) > 0) last_ = SomeAsk();  // else once more
    const quota::SyncHolding command{last_.quota,      last_.pool, last_.nodes,
                                     last_.generation, "pool",     last_.release};
    const QuotaTold due = model_.Sync(last_);
    const QuotaTold told = Told(Do(command));
    EXPECT_EQ(told, due) << last_.quota << " " << last_.pool << ", generation " << last_.generation
                         << ", " << last_.nodes << " Nodes: core " << Say(told) << ", model "
                         << Say(due);
    EXPECT_EQ(state_.Held(last_.quota), model_.HeldOf(last_.quota));
  }

  // What the core knows after a restart follows from the rows.
  void Restart() {
    quota::State rebuilt;
    state_.ForEach([&](const auto& row) { rebuilt.Apply(row.change, row.revision); });
    state_ = std::move(rebuilt);
  }

  static QuotaTold Told(const absl::StatusOr<quota::HoldingOutcome>& answer) {
    constexpr const char* kVerdicts[] = {"UNDER", "OVER", "NOT_SET"};
    if (!answer.ok()) return {error::ReasonOf(answer.status())};
    return {"", kVerdicts[static_cast<int>(answer->verdict)], answer->nodes, answer->held};
  }
  static std::string Say(const QuotaTold& told) {
    return absl::StrCat(told.error, told.verdict, " ", told.nodes, " of ", told.held);
  }

  std::mt19937 random_;
  quota::State state_;
  int64_t revision_ = 0;
  absl::Time now_ = absl::FromUnixSeconds(1'750'000'000);
  QuotaModel model_;
  QuotaAsk last_;
};

TEST(QuotaModelTest, QuotaDoesWhatTheTextSays) {
  for (uint32_t seed = 1; seed <= kHistories && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    QuotaHistory history(seed);
    for (int step = 0; step < kQuotaSteps && !HasFailure(); ++step) {
      SCOPED_TRACE(step);
      history.Step();
    }
  }
}

}  // namespace
}  // namespace muster::model
