#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "services/quota/core/decide.h"

// Random histories: what must hold after every step, whatever happened before.
namespace muster::quota {
namespace {

constexpr int kSeeds = 3'000;
constexpr int kSteps = 60;

class History {
 public:
  explicit History(unsigned seed) : random_(seed) {}

  void Step() {
    const std::string quota = QuotaName(Key(Pick(2)));
    const std::map<std::string, int64_t> held_before = HeldByKey();
    Overlay<State> overlay(state_, revision_);
    if (Pick(5) == 0) {
      ASSERT_TRUE(Decide(overlay, UpdateQuota{Key(Pick(2)), Pick(12), "", true}, Now()).ok());
    } else if (Pick(20) == 0) {
      Decide(overlay, DeleteQuota{quota}, Now()).IgnoreError();
    } else {
      SyncHolding command{quota, absl::StrCat("p", Pick(4)), Pick(8), 1 + Pick(40), "p"};
      command.release = Pick(10) == 0;
      if (command.release) command.nodes = 0;
      const auto answer = Decide(overlay, command, Now());
      if (!answer.ok()) {
        ASSERT_TRUE(overlay.changes().empty()) << "a refused command left something behind";
      } else {
        const size_t mark = overlay.Mark();
        const auto again = Decide(overlay, command, Now() + absl::Seconds(1));
        ASSERT_TRUE(again.ok());
        ASSERT_EQ(overlay.Mark(), mark) << "the same request twice had the effect of two";
        ASSERT_EQ(again->held, answer->held);
      }
    }
    const bool undo = Pick(4) == 0;  // as a transaction that failed
    if (undo) overlay.RollBack();
    revision_ = overlay.revision();
    Check(undo ? HeldByKey() : held_before, undo ? held_before : HeldByKey(), undo);
  }

 private:
  static QuotaKey Key(int64_t n) {
    return {absl::StrCat("org", n), "US-EAST-04A", "t", ComputeClass::kDefault};
  }
  absl::Time Now() const { return absl::FromUnixSeconds(revision_); }
  int64_t Pick(int64_t below) {
    return std::uniform_int_distribution<int64_t>(0, below - 1)(random_);
  }

  std::map<std::string, int64_t> HeldByKey() const {
    std::map<std::string, int64_t> held;
    for (const auto& [name, holding] : state_.table<Holding>().rows())
      held[holding.row->quota] += holding.row->nodes;
    return held;
  }

  void Check(const std::map<std::string, int64_t>& before,
             const std::map<std::string, int64_t>& after, bool undone) {
    if (undone) {
      ASSERT_EQ(before, after) << "a rollback did not take everything back";
    }
    for (const auto& [quota, held] : after) {
      ASSERT_EQ(state_.Held(quota), held) << "the index and the rows differ";
      const auto it = before.find(quota);
      const int64_t held_before = it == before.end() ? 0 : it->second;
      const Quota* row = state_.table<Quota>().Find(quota);
      if (held > held_before) {
        ASSERT_LE(held, row == nullptr ? 0 : row->limit) << "grew over its limit";
      }
    }
  }

  std::mt19937 random_;
  State state_;
  int64_t revision_ = 0;
};

TEST(QuotaProperties, NeverOverLimitByGrowthNothingLostTwiceIsOnce) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    History history(seed);
    for (int step = 0; step < kSteps; ++step) {
      history.Step();
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace muster::quota
