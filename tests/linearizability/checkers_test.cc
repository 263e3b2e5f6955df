// The two checkers on histories that are known to be linearizable or not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "services/quota/core/decide.h"
#include "tests/linearizability/holders.h"
#include "tests/linearizability/search.h"
#include "tests/linearizability/witness.h"

namespace muster::linearizability {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// --- Search on a register: write(v), read() = v ---

struct RegisterCall {
  Interval interval = {};
  bool write = false;
  int value = 0;
};

class RegisterModel {
 public:
  using State = int;
  explicit RegisterModel(std::vector<RegisterCall> calls) : calls_(std::move(calls)) {}
  State Initial() { return 0; }
  std::optional<State> Step(State state, size_t call) const {
    if (calls_[call].write) return calls_[call].value;
    if (calls_[call].interval.responded == kNever || state == calls_[call].value) return state;
    return std::nullopt;
  }
  std::string KeyOf(State state) const { return std::to_string(state); }

 private:
  std::vector<RegisterCall> calls_;
};

std::vector<Interval> IntervalsOf(const std::vector<RegisterCall>& calls) {
  std::vector<Interval> intervals;
  for (const RegisterCall& call : calls) intervals.push_back(call.interval);
  return intervals;
}

Verdict SearchIn(const std::vector<RegisterCall>& calls) {
  RegisterModel model(calls);
  return Search(model, IntervalsOf(calls), 1'000'000).Run().verdict;
}

RegisterCall Write(int64_t from, int64_t to, int value) { return {{from, to}, true, value}; }
RegisterCall Read(int64_t from, int64_t to, int value) { return {{from, to}, false, value}; }

TEST(SearchTest, KnownHistories) {
  struct Case {
    const char* name;
    std::vector<RegisterCall> calls;
    Verdict verdict;
  };
  const Case cases[] = {
      {"none", {}, Verdict::kLinearizable},
      {"one after the other", {Write(0, 1, 5), Read(2, 3, 5)}, Verdict::kLinearizable},
      {"a stale read", {Write(0, 1, 5), Read(2, 3, 0)}, Verdict::kNotLinearizable},
      {"a read beside the write, before it",
       {Write(0, 9, 5), Read(2, 3, 0)},
       Verdict::kLinearizable},
      {"a read beside the write, after it",
       {Write(0, 9, 5), Read(2, 3, 5)},
       Verdict::kLinearizable},
      {"two reads beside a write turn back",
       {Write(0, 9, 5), Read(1, 2, 5), Read(3, 4, 0)},
       Verdict::kNotLinearizable},
      {"from the future", {Read(0, 1, 5), Write(2, 3, 5)}, Verdict::kNotLinearizable},
      {"touching in time is overlapping", {Write(0, 1, 5), Read(1, 2, 0)}, Verdict::kLinearizable},
      {"unknown and seen", {Write(0, kNever, 5), Read(7, 8, 5)}, Verdict::kLinearizable},
      {"unknown and never done", {Write(0, kNever, 5), Read(7, 8, 0)}, Verdict::kLinearizable},
      {"unknown and done late",
       {Write(0, kNever, 5), Read(1, 2, 0), Read(3, 4, 5)},
       Verdict::kLinearizable},
      {"unknown and undone",
       {Write(0, kNever, 5), Read(1, 2, 5), Read(3, 4, 0)},
       Verdict::kNotLinearizable},
      {"unknown and seen before it began",
       {Read(0, 1, 5), Write(2, kNever, 5)},
       Verdict::kNotLinearizable},
      {"two writers, two readers disagree",
       {Write(0, 9, 1), Write(0, 9, 2), Read(10, 11, 1), Read(12, 13, 2)},
       Verdict::kNotLinearizable},
  };
  for (const Case& c : cases) EXPECT_EQ(SearchIn(c.calls), c.verdict) << c.name;
}

TEST(SearchTest, SaysWhenItGivesUp) {
  std::vector<RegisterCall> calls;
  for (int i = 1; i <= 30; ++i) calls.push_back(Write(0, 100, i));
  calls.push_back(Read(101, 102, 77));
  RegisterModel model(calls);
  EXPECT_EQ(Search(model, IntervalsOf(calls), 1'000).Run().verdict, Verdict::kUndecided);
}

// Whether some permutation of the calls fits: the definition, word for word.
bool SomeOrderFits(const std::vector<RegisterCall>& calls) {
  std::vector<size_t> order(calls.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  do {
    bool fits = true;
    for (size_t i = 0; i < order.size() && fits; ++i) {
      for (size_t j = i + 1; j < order.size() && fits; ++j)
        fits = calls[order[j]].interval.responded >= calls[order[i]].interval.invoked;
    }
    int value = 0;
    for (size_t i = 0; i < order.size() && fits; ++i) {
      const RegisterCall& call = calls[order[i]];
      if (call.write) value = call.value;
      fits = call.write || call.value == value;
    }
    if (fits) return true;
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

TEST(SearchTest, AgreesWithTheDefinitionOnRandomHistories) {
  int linearizable = 0;
  for (unsigned seed = 0; seed < 3'000; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](int from, int to) {
      return std::uniform_int_distribution<int>(from, to)(random);
    };
    std::vector<RegisterCall> calls;
    for (int i = pick(2, 6); i > 0; --i) {
      const int from = pick(0, 20);
      calls.push_back({{from, from + pick(0, 8)}, pick(0, 1) == 0, pick(0, 2)});
    }
    const bool expected = SomeOrderFits(calls);
    linearizable += expected ? 1 : 0;
    ASSERT_EQ(SearchIn(calls) == Verdict::kLinearizable, expected) << "seed " << seed;
  }
  EXPECT_GT(linearizable, 300);
  EXPECT_LT(linearizable, 2'700);
}

// --- Holders ---

TEST(HoldersTest, KnownHistories) {
  const std::vector<Sighting> both = {{"a", "m", {0, 2}}, {"b", "m", {5, 6}}};
  EXPECT_THAT(TwoHolders(both, {}), ElementsAre(HasSubstr("m was held by a and b")));
  EXPECT_THAT(TwoHolders(both, {{"a", "m", {3, 4}}}), IsEmpty());
  EXPECT_THAT(TwoHolders(both, {{"a", "m", {3, kNever}}}), IsEmpty()) << "may have been done";
  EXPECT_THAT(TwoHolders(both, {{"a", "m", {7, 8}}}), ElementsAre(HasSubstr("one time")));
  EXPECT_THAT(TwoHolders(both, {{"a", "x", {3, 4}}}), ElementsAre(HasSubstr("one time")));
  EXPECT_THAT(TwoHolders({{"a", "m", {3, 4}}, {"b", "m", {5, 6}}}, {{"a", "m", {0, 2}}}),
              ElementsAre(HasSubstr("one time")))
      << "given back before it was seen: granted again";
  EXPECT_THAT(TwoHolders({{"a", "m", {0, 2}}, {"a", "m", {5, 6}}, {"b", "n", {5, 6}}}, {}),
              IsEmpty());
}

// --- Witness on quota's core ---

using QuotaState = quota::State;
constexpr char kQuota[] = "organizations/acme/quotas/US-EAST-04A~gd-8xa100-i128~default";

class WitnessTest : public ::testing::Test {
 protected:
  WitnessTest() {
    journal_.encode = [](const Revised<QuotaState::Change>& change) {
      const auto* holding = std::get_if<std::shared_ptr<const quota::Holding>>(&change.change.row);
      return absl::StrCat(change.change.key, (*holding)->nodes, "#", (*holding)->generation);
    };
    StagedState<QuotaState> staged(journal_.before, 0);
    staged.Put(quota::Quota{*quota::ParseQuotaName(kQuota), 10});
    journal_.revision = staged.revision();
    state_ = journal_.before;
  }

  static Answer Decided(StagedState<QuotaState>& staged, const std::string& pool, int64_t nodes,
                        int64_t generation) {
    const auto answer = quota::Decide(
        staged, quota::SyncHolding{kQuota, pool, nodes, generation, pool}, absl::UnixEpoch());
    if (!answer.ok()) return {answer.status().ToString(), answer.status().ToString()};
    return {absl::StrCat(answer->nodes, " held ", answer->held, " at ", answer->revision),
            absl::StrCat(answer->nodes, " held ", answer->held)};
  }

  // A call that holds `nodes`; carried out now, journaled and answered.
  Call<QuotaState>& Sync(int64_t from, int64_t to, const std::string& pool, int64_t nodes,
                         int64_t generation) {
    Call<QuotaState> call{{from, to}, Outcome::kAnswered};
    call.what = absl::StrCat(pool, "#", generation);
    call.marks = {call.what};
    call.decide = [=](StagedState<QuotaState>& staged, absl::Time) {
      return Decided(staged, pool, nodes, generation);
    };
    const int64_t before = journal_.revision + static_cast<int64_t>(journal_.rows.size());
    StagedState<QuotaState> staged(state_, before);
    call.answer = call.decide(staged, absl::UnixEpoch());
    for (const auto& change : staged.changes())
      journal_.rows.push_back({change.revision, absl::StrCat("b", change.revision), change,
                               journal_.encode(change), call.what, absl::UnixEpoch()});
    calls_.push_back(std::move(call));
    return calls_.back();
  }
  // A read that saw `held`.
  void ReadHeld(int64_t from, int64_t to, int64_t held) {
    Call<QuotaState> call{{from, to}, Outcome::kAnswered};
    call.what = "read";
    call.answer = {absl::StrCat(held), absl::StrCat(held)};
    call.decide = [](StagedState<QuotaState>& staged, absl::Time) {
      const std::string is = absl::StrCat(staged.state().Held(kQuota));
      return Answer{is, is};
    };
    calls_.push_back(std::move(call));
  }
  std::vector<std::string> Violations() { return Witness(journal_, calls_).Run().violations; }

  Journal<QuotaState> journal_;
  QuotaState state_;
  std::vector<Call<QuotaState>> calls_;
};

TEST_F(WitnessTest, AHonestHistoryPasses) {
  Sync(0, 5, "a", 3, 1);
  Sync(1, 9, "b", 4, 1);
  Sync(2, 8, "c", 9, 1);  // refused
  ReadHeld(3, 4, 0);      // beside all of them, before any
  ReadHeld(10, 11, 7);
  const WitnessResult result = Witness(journal_, calls_).Run();
  EXPECT_THAT(result.violations, IsEmpty());
  EXPECT_EQ(result.writes, 3);
  EXPECT_EQ(result.others, 2);
}

TEST_F(WitnessTest, AStaleReadIsFound) {
  Sync(0, 1, "a", 3, 1);
  ReadHeld(2, 3, 0);
  EXPECT_THAT(Violations(), ElementsAre(HasSubstr("read")));
}

TEST_F(WitnessTest, ReadsThatTurnBackAreFound) {
  Sync(0, 9, "a", 3, 1);
  ReadHeld(1, 2, 3);
  ReadHeld(3, 4, 0);
  EXPECT_THAT(Violations(), ElementsAre(HasSubstr("read")));
}

TEST_F(WitnessTest, AWriteBeforeWhatEndedBeforeItIsFound) {
  Sync(5, 6, "a", 3, 1);
  Sync(0, 1, "b", 4, 1);  // ended first, journaled last
  EXPECT_THAT(Violations(), ElementsAre(HasSubstr("a#1 wrote revision 2")));
}

TEST_F(WitnessTest, AWrongAnswerIsFound) {
  Sync(0, 1, "a", 3, 1).answer = {"3 held 2 at 2", "3 held 2"};
  EXPECT_THAT(Violations(), ElementsAre(HasSubstr("Revision 2"), HasSubstr("a#1")));
}

TEST_F(WitnessTest, AGrantOverTheLimitIsFound) {
  Sync(0, 1, "a", 7, 1);
  const QuotaState without_a = journal_.before;
  state_ = without_a;  // a replica that missed the first
  Sync(2, 3, "b", 7, 1);
  EXPECT_THAT(Violations(), ElementsAre(HasSubstr("Revision 3"), HasSubstr("b#1")));
}

TEST_F(WitnessTest, WhatFailedMustNotBeThere) {
  Sync(0, 1, "a", 3, 1).outcome = Outcome::kFailed;
  EXPECT_THAT(Violations(), ElementsAre(HasSubstr("Revision 2")));
}

TEST_F(WitnessTest, AnAcknowledgedWriteThatIsNotThereIsFound) {
  Sync(0, 1, "a", 3, 1);
  journal_.rows.clear();
  EXPECT_THAT(Violations(), ElementsAre(HasSubstr("a#1")));
}

TEST_F(WitnessTest, UnknownOutcomesMayBeThereOrNot) {
  Call<QuotaState>& done = Sync(0, kNever, "a", 3, 1);
  done.outcome = Outcome::kUnknown;
  ReadHeld(5, 6, 0);
  ReadHeld(7, 8, 3);
  Call<QuotaState> lost{{0, kNever}, Outcome::kUnknown};
  lost.marks = {"x#1"};
  calls_.push_back(lost);
  const WitnessResult result = Witness(journal_, calls_).Run();
  EXPECT_THAT(result.violations, IsEmpty());
  EXPECT_EQ(result.unknown_done, 1);
}

TEST_F(WitnessTest, ARowGoesToTheCallThatHasNoOtherPlace) {
  // Both hold a node if nobody does, and are refused otherwise; one of them was told that it does.
  const auto take = [](StagedState<QuotaState>& staged, absl::Time) {
    if (staged.state().Held(kQuota) > 0) return Answer{"refused", "refused"};
    staged.Put(quota::Holding{kQuota, "a", 1, 1, ""});
    return Answer{"taken", "taken"};
  };
  Sync(10, 11, "a", 1, 1);
  journal_.rows[0].bytes = absl::StrCat(journal_.rows[0].change.change.key, "1#1");
  calls_[0].decide = take;
  calls_[0].answer = {"taken", "taken"};
  calls_[0].marks = {"take"};
  journal_.rows[0].mark = "take";
  Call<QuotaState> twin = calls_[0];
  twin.interval = {0, kNever};
  twin.outcome = Outcome::kUnknown;
  calls_.push_back(twin);
  const WitnessResult result = Witness(journal_, calls_).Run();
  EXPECT_THAT(result.violations, IsEmpty());
  EXPECT_EQ(result.unknown_done, 0);
}

TEST_F(WitnessTest, AnUnknownOutcomeHasNoEffectBeforeItsCall) {
  Sync(9, kNever, "a", 3, 1).outcome = Outcome::kUnknown;
  ReadHeld(1, 2, 3);
  EXPECT_THAT(Violations(), ElementsAre(HasSubstr("a#1 wrote revision 2")));
}

}  // namespace
}  // namespace muster::linearizability
