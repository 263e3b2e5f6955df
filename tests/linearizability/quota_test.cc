// Quota under 32 clients on two replicas: linearizable, though one replica is killed in the midst;
// and not linearizable, by both checkers, when the lock on the journal's head is taken away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "services/quota/store/quota_store.h"
#include "tests/linearizability/arena.h"
#include "tests/linearizability/quota_calls.h"
#include "tests/linearizability/watch_history.h"

namespace muster::linearizability {
namespace {

using quota::State;
using ::testing::IsEmpty;

constexpr int kCallsEach = 80;
constexpr int kWatchers = 8;
constexpr size_t kWindow = 150;      // calls of one key
constexpr size_t kLeastWindow = 50;  // at least so many must be decided
constexpr int64_t kMaxSteps = 1'000'000;
constexpr int64_t kMaxStepsOfAll = 100'000;  // a step costs more, the more pools were released

// `beside` runs now and then between two calls.
std::vector<Call<State>> PlayQuota(
    testing::MiniMuster& muster, unsigned seed, bool kill, absl::Duration patience,
    const std::function<void()>& beside = [] {}) {
  QuotaCaller::Shared shared;
  return Play<State>(muster, kCallsEach, kill, [&](int client, const Channels& channels) {
    auto caller = std::make_shared<QuotaCaller>(client, seed, channels, &shared, patience);
    return [caller, client, &beside] {
      if (client == 0) beside();
      return caller->Next();
    };
  });
}

OpenWatch<quota::v1::WatchQuotasResponse> WatchQuotas(const testing::MiniMuster& muster) {
  std::vector<std::shared_ptr<QuotaCaller::Stub>> stubs;
  for (size_t replica = 0; replica < 2; ++replica)
    stubs.push_back(quota::v1::QuotaService::NewStub(muster.channel(replica)));
  return [stubs](grpc::ClientContext* context, size_t replica, const type::v1::WatchStart& start) {
    quota::v1::WatchQuotasRequest request;
    *request.mutable_start() = start;
    return stubs[replica]->WatchQuotas(context, request);
  };
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

SearchResult SearchKey(const std::vector<Call<State>>& all, const std::string& key, size_t count,
                       int64_t max_steps = kMaxSteps) {
  const std::vector<Call<State>> calls = BeginningOf(all, key, count);
  std::vector<const Call<State>*> chosen;
  std::vector<Interval> intervals;
  for (const Call<State>& call : calls) {
    chosen.push_back(&call);
    intervals.push_back(call.interval);
  }
  QuotaModel model(chosen);
  SearchResult result = Search(model, std::move(intervals), max_steps).Run();
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
  testing::MiniMuster muster(TwoReplicas());
  const auto calls = PlayQuota(muster, Seed(), true, absl::Seconds(30));
  const std::unique_ptr<const storage::Store<quota::State>> store = storage::NewQuotaStore();
  const auto journal = ReadJournal<State>(muster, "quota", *store, QuotaMark, QuotaTime);
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
    EXPECT_NE(SearchKey(calls, name, calls.size(), kMaxStepsOfAll).verdict,
              Verdict::kNotLinearizable)
        << name;
  }
  EXPECT_EQ(muster.CompareStates(), "");
}

// Answers of the database come late, so that reads and watches begin while what they were told is
// no longer true; and the journal is forgotten up to its last changes again and again, so that
// whoever resumes may find its place gone.
TEST(QuotaLinearizabilityTest, LateAnswersAndAForgetfulJournal) {
  const unsigned seed = Seed();
  testing::MiniMuster muster(TwoReplicas());
  SlowDownTheHead(muster.database(), "quota");
  PrepareToCompact(muster.database(), "quota");
  Watchers watchers(seed);
  const WatchFilter all{.kinds = {quota::Quota::kKind, quota::Holding::kKind}};
  for (int i = 0; i < kWatchers; ++i) {
    watchers.Add({.name = absl::StrCat("watcher ", i),
                  .filter = all,
                  .bundle = i % 2 == 0,
                  .from_snapshot = i % 4 < 2},
                 WatchQuotas(muster));
  }
  std::mt19937 random(seed);
  const auto calls = PlayQuota(muster, seed, true, absl::Seconds(30), [&] {
    CompactJournal(muster.database(), "quota", std::uniform_int_distribution<int>(0, 60)(random));
  });
  const Kinds kinds = {{quota::Quota::kKind, &quota::v1::Quota::default_instance()},
                       {quota::Holding::kKind, &quota::v1::Holding::default_instance()}};
  const WatchResult watched =
      EndWatches(watchers, muster.database(), "quota", kinds, Afterwards::kStill);
  EXPECT_THAT(watched.violations, IsEmpty());
  EXPECT_GT(watched.count.snapshots, kWatchers);
  EXPECT_GT(watched.count.resumed, kWatchers);
  EXPECT_GT(watched.count.out_of_range, 0);
  const std::unique_ptr<const storage::Store<quota::State>> store = storage::NewQuotaStore();
  const auto journal = ReadJournal<State>(muster, "quota", *store, QuotaMark, QuotaTime);
  const WitnessResult result = Witness(journal, calls).Run();
  Tell(calls, result);
  EXPECT_THAT(result.violations, IsEmpty());
  const std::string compared = "quota: the journal was not compared whole\n";
  EXPECT_EQ(muster.CompareStates(), compared + compared) << "both replicas, nothing else";
}

// The head's row behind a view that cannot be locked, and the journal behind one that takes a
// revision twice and shows the first: as if the lock had been left out of the program.
constexpr char kTakeTheLockAway[] =
    // In the order in which replicas look: head, then journal.
    "LOCK TABLE quota.journal_head IN ACCESS EXCLUSIVE MODE;"
    "LOCK TABLE quota.journal IN ACCESS EXCLUSIVE MODE;"
    "ALTER TABLE quota.journal DROP CONSTRAINT journal_pkey;"
    "ALTER TABLE quota.journal ADD COLUMN nth bigint GENERATED ALWAYS AS IDENTITY;"
    "ALTER TABLE quota.journal RENAME TO real_journal;"
    "CREATE VIEW quota.journal AS SELECT DISTINCT ON (revision) * FROM quota.real_journal"
    " ORDER BY revision, nth;"
    "CREATE FUNCTION quota.write_journal() RETURNS trigger LANGUAGE plpgsql AS"
    " $$BEGIN INSERT INTO quota.real_journal (revision, batch, kind, key, change)"
    " VALUES (NEW.revision, NEW.batch, NEW.kind, NEW.key, NEW.change); RETURN NEW; END$$;"
    "CREATE TRIGGER write_journal INSTEAD OF INSERT ON quota.journal"
    " FOR EACH ROW EXECUTE FUNCTION quota.write_journal();"
    "GRANT SELECT, INSERT, DELETE ON quota.journal TO muster_quota;"
    "ALTER TABLE quota.journal_head RENAME TO real_head;"
    "CREATE FUNCTION quota.read_head() RETURNS SETOF quota.real_head LANGUAGE plpgsql AS"
    " $$BEGIN RETURN QUERY SELECT * FROM quota.real_head; END$$;"
    "CREATE VIEW quota.journal_head AS SELECT * FROM quota.read_head();"
    "CREATE FUNCTION quota.write_head() RETURNS trigger LANGUAGE plpgsql AS"
    " $$BEGIN UPDATE quota.real_head SET revision = NEW.revision, batch = NEW.batch,"
    " compacted_revision = NEW.compacted_revision, commit_time = NEW.commit_time;"
    " RETURN NEW; END$$;"
    "CREATE TRIGGER write_head INSTEAD OF UPDATE ON quota.journal_head"
    " FOR EACH ROW EXECUTE FUNCTION quota.write_head();"
    "GRANT SELECT, UPDATE ON quota.journal_head TO muster_quota";

TEST(QuotaLinearizabilityTest, WithoutTheLockBothCheckersFindIt) {
  testing::MiniMuster muster(TwoReplicas());
  muster.database().Execute(kTakeTheLockAway);
  const auto calls = PlayQuota(muster, Seed(), false, absl::Seconds(3));
  const std::unique_ptr<const storage::Store<quota::State>> store = storage::NewQuotaStore();
  const auto journal = ReadJournal<State>(muster, "quota", *store, QuotaMark, QuotaTime);
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
