// Quota under 32 clients on two replicas: linearizable, though one replica is killed in the midst;
// and not linearizable, by both checkers, when the lock on the journal's head is taken away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "storage/quota/quota_store.h"
#include "tests/linearizability/arena.h"
#include "tests/linearizability/quota_calls.h"

namespace muster::linearizability {
namespace {

using quota::State;
using ::testing::IsEmpty;

constexpr int kCallsEach = 80;
constexpr size_t kWindow = 150;      // calls of one key
constexpr size_t kLeastWindow = 50;  // at least so many must be decided
constexpr int64_t kMaxSteps = 1'000'000;

std::vector<Call<State>> PlayQuota(testing::House& house, bool kill, absl::Duration patience) {
  std::atomic<int64_t> generations = 0;
  const unsigned seed = Seed();
  return Play<State>(
      house, kCallsEach, kill, [&](int client, const std::shared_ptr<grpc::Channel>& channel) {
        auto caller = std::make_shared<QuotaCaller>(client, seed, channel, &generations, patience);
        return [caller] { return caller->Next(); };
      });
}

// The calls of one key until `count` of them have begun. What ends later is unknown yet: what
// begins a linearizable history is linearizable.
std::vector<Call<State>> BeginningOf(const std::vector<Call<State>>& calls, const std::string& key,
                                     size_t count) {
  std::vector<Call<State>> chosen;
  for (const Call<State>& call : calls) {
    if (call.key == key && call.outcome != Outcome::kFailed) chosen.push_back(call);
  }
  std::sort(chosen.begin(), chosen.end(),
            [](const auto& a, const auto& b) { return a.interval.invoked < b.interval.invoked; });
  if (chosen.size() <= count) return chosen;
  const int64_t end = chosen[count].interval.invoked;
  chosen.resize(count);
  for (Call<State>& call : chosen) {
    if (call.interval.responded < end) continue;
    call.interval.responded = kNever;
    call.outcome = Outcome::kUnknown;
  }
  return chosen;
}

SearchResult SearchKey(const std::vector<Call<State>>& all, const std::string& key,
                       size_t count = std::numeric_limits<size_t>::max()) {
  const std::vector<Call<State>> calls = BeginningOf(all, key, count);
  std::vector<const Call<State>*> chosen;
  std::vector<Interval> intervals;
  for (const Call<State>& call : calls) {
    chosen.push_back(&call);
    intervals.push_back(call.interval);
  }
  QuotaModel model(chosen);
  SearchResult result = Search(model, std::move(intervals), kMaxSteps).Run();
  std::cout << key << ": " << chosen.size() << " calls, " << result.steps << " steps\n";
  return result;
}

void Tell(const std::vector<Call<State>>& calls, const WitnessResult& result) {
  int64_t unknown = 0;
  int64_t failed = 0;
  for (const auto& call : calls) {
    unknown += call.outcome == Outcome::kUnknown ? 1 : 0;
    failed += call.outcome == Outcome::kFailed ? 1 : 0;
  }
  std::cout << calls.size() << " calls: " << result.writes << " wrote, " << result.others
            << " did not, " << failed << " failed, of " << unknown << " the outcome is unknown and "
            << result.unknown_done << " were done\n";
}

TEST(QuotaLinearizabilityTest, TwoReplicasOneKilled) {
  testing::House house(TwoReplicas());
  const auto calls = PlayQuota(house, true, absl::Seconds(30));
  const storage::PostgresQuotaStore store;
  const auto journal = ReadJournal<State>(house, "quota", store, QuotaMark, QuotaTime);
  const WitnessResult result = Witness(journal, calls).Run();
  Tell(calls, result);
  EXPECT_THAT(result.violations, IsEmpty());
  EXPECT_GT(result.writes, kClients * kCallsEach / 4);
  for (int key = 0; key < QuotaCaller::kKeys; ++key) {
    const std::string name = QuotaCaller::KeyName(key);
    // How many calls overlap is up to the machine: what is too much to decide is taken smaller.
    Verdict verdict = Verdict::kUndecided;
    for (size_t window = kWindow; window >= kLeastWindow && verdict == Verdict::kUndecided;
         window -= kLeastWindow)
      verdict = SearchKey(calls, name, window).verdict;
    EXPECT_EQ(verdict, Verdict::kLinearizable) << name;
    // The whole may be too much for the search, never wrong.
    EXPECT_NE(SearchKey(calls, name).verdict, Verdict::kNotLinearizable) << name;
  }
  EXPECT_EQ(house.CompareStates(), "");
}

// The head's row behind a view that cannot be locked, and the journal without the key that would
// refuse a revision twice: as if the lock had been left out of the program.
constexpr char kTakeTheLockAway[] =
    "ALTER TABLE quota.journal DROP CONSTRAINT journal_pkey;"
    "ALTER TABLE quota.journal_head RENAME TO real_head;"
    "CREATE FUNCTION quota.read_head() RETURNS SETOF quota.real_head LANGUAGE plpgsql AS"
    " $$BEGIN RETURN QUERY SELECT * FROM quota.real_head; END$$;"
    "CREATE VIEW quota.journal_head AS SELECT * FROM quota.read_head();"
    "CREATE FUNCTION quota.write_head() RETURNS trigger LANGUAGE plpgsql AS"
    " $$BEGIN UPDATE quota.real_head SET revision = NEW.revision, batch = NEW.batch,"
    " compacted_revision = NEW.compacted_revision; RETURN NEW; END$$;"
    "CREATE TRIGGER write_head INSTEAD OF UPDATE ON quota.journal_head"
    " FOR EACH ROW EXECUTE FUNCTION quota.write_head();"
    "GRANT SELECT, UPDATE ON quota.journal_head TO muster_quota";

TEST(QuotaLinearizabilityTest, WithoutTheLockBothCheckersFindIt) {
  testing::House house(TwoReplicas());
  house.database().Execute(kTakeTheLockAway);
  const auto calls = PlayQuota(house, false, absl::Seconds(3));
  const storage::PostgresQuotaStore store;
  const auto journal = ReadJournal<State>(house, "quota", store, QuotaMark, QuotaTime);
  const WitnessResult result = Witness(journal, calls).Run();
  Tell(calls, result);
  ASSERT_FALSE(result.violations.empty());
  std::cout << "found: " << result.violations.front() << "\n";
  // The earlier the mistake shows, the shorter the search.
  bool found = false;
  for (const size_t count : {30u, 60u, 120u, 240u, 480u}) {
    for (int key = 0; key < QuotaCaller::kKeys && !found; ++key) {
      found =
          SearchKey(calls, QuotaCaller::KeyName(key), count).verdict == Verdict::kNotLinearizable;
    }
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace muster::linearizability
