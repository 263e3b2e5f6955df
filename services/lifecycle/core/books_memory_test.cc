// What stands in several snapshots and what is on its way; which orphans are given back, and when.
#include "services/lifecycle/core/books_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/testing/books.h"

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using OrphanVerdict = OrphanMemory::Verdict;

constexpr absl::Duration kGrace = absl::Minutes(15);

// A pool that has a machine without a Node.
Books Granted() {
  Books books = ClosedBooks(2);
  books.pools[1].nodes.pop_back();
  return books;
}

TEST(BooksMemory, CountsWhatStandsForTheWholeGrace) {
  BooksMemory memory;
  memory.Note(Granted(), absl::Minutes(0));
  EXPECT_THAT(memory.Stood(kGrace), IsEmpty());
  EXPECT_THAT(memory.Stood(absl::ZeroDuration()), SizeIs(1));
  memory.Note(Granted(), absl::Minutes(14));
  EXPECT_THAT(memory.Stood(kGrace), IsEmpty());
  memory.Note(Granted(), absl::Minutes(15));
  const auto stood = memory.Stood(kGrace);
  ASSERT_THAT(stood, SizeIs(1));
  EXPECT_EQ(stood[0].age, absl::Minutes(15));
  EXPECT_EQ(stood[0].difference.kind, DifferenceKind::kMachineWithoutNode);
  EXPECT_EQ(stood[0].difference.subject, "m-1-2");
}

TEST(BooksMemory, BeginsAnewAfterOneSnapshotWithoutIt) {
  BooksMemory memory;
  memory.Note(Granted(), absl::Minutes(0));
  memory.Note(ClosedBooks(2), absl::Minutes(7));
  memory.Note(Granted(), absl::Minutes(15));
  EXPECT_THAT(memory.Stood(kGrace), IsEmpty());
  memory.Forget();
  memory.Note(Granted(), absl::Minutes(40));
  EXPECT_THAT(memory.Stood(kGrace), IsEmpty());
}

TEST(BooksMemory, BeginsAnewWhenAnythingOfThePoolMoved) {
  const std::vector<std::function<void(Books&)>> moves = {
      [](Books& b) { ++b.pools[1].wanted; },
      [](Books& b) { --b.pools[1].requested; },
      [](Books& b) { b.pools[1].nodes[0].leaving = true; },
      [](Books& b) { ++b.holdings[1].generation; },
      [](Books& b) { ++b.holdings[1].nodes; },
      [](Books& b) { ++b.claims[1].generation; },
      [](Books& b) { b.claims[1].machines.push_back("one more"); },
      [](Books& b) { ++b.configurations[1].generation; }};
  for (size_t i = 0; i < moves.size(); ++i) {
    SCOPED_TRACE(i);
    BooksMemory memory;
    memory.Note(Granted(), absl::Minutes(0));
    Books moved = Granted();
    moves[i](moved);
    memory.Note(moved, absl::Minutes(15));
    for (const auto& standing : memory.Stood(kGrace)) {
      EXPECT_NE(standing.difference.subject, "m-1-2") << standing.difference.message;
    }
    memory.Note(moved, absl::Minutes(30));
    EXPECT_FALSE(memory.Stood(kGrace).empty());
  }
}

TEST(BooksMemory, AnotherPoolsMovesDoNotMatter) {
  BooksMemory memory;
  memory.Note(Granted(), absl::Minutes(0));
  Books moved = Granted();
  ++moved.holdings[0].generation;
  memory.Note(moved, absl::Minutes(15));
  EXPECT_THAT(memory.Stood(kGrace), SizeIs(1));
}

TEST(BooksMemory, AnOrphanThatGetsMachinesStaysOne) {
  Books books = ClosedBooks(2);
  books.pools.pop_back();
  BooksMemory memory;
  memory.Note(books, absl::Minutes(0));
  ++books.claims[1].generation;
  books.claims[1].machines.push_back("one more");
  books.holdings[1].nodes = 4;
  memory.Note(books, absl::Minutes(15));
  const auto stood = memory.Stood(kGrace);
  EXPECT_THAT(stood, SizeIs(3));
  EXPECT_THAT(stood[1].difference.message, ::testing::HasSubstr("4 machines"));
}

// --- orphans ---

// Ten pools, and what is left of those that are named.
Books WithGhosts(const std::vector<std::string>& ghosts, size_t pools = 10) {
  Books books = ClosedBooks(pools);
  for (const std::string& ghost : ghosts) books.configurations.push_back({ghost, 1});
  return books;
}

TEST(OrphanMemory, ReleasesAfterTheGraceAndNotBefore) {
  OrphanMemory memory;
  const OrphanPolicy policy;
  EXPECT_THAT(memory.Update(WithGhosts({"g"}), policy, absl::Minutes(0)).release, IsEmpty());
  EXPECT_THAT(memory.Update(WithGhosts({"g"}), policy, kGrace - absl::Milliseconds(1)).release,
              IsEmpty());
  const OrphanVerdict verdict = memory.Update(WithGhosts({"g"}), policy, kGrace);
  EXPECT_THAT(verdict.release, ElementsAre("g"));
  EXPECT_EQ(verdict.orphans, 1);
  EXPECT_EQ(verdict.uids, 11);
  EXPECT_FALSE(verdict.withheld);
}

TEST(OrphanMemory, AUidThatHadAPoolInBetweenBeginsAnew) {
  OrphanMemory memory;
  const OrphanPolicy policy;
  (void)memory.Update(WithGhosts({"uid-1"}), policy, absl::Minutes(0));
  Books without = ClosedBooks(10);
  without.pools.erase(without.pools.begin() + 1);
  (void)memory.Update(without, policy, absl::Minutes(1));
  (void)memory.Update(ClosedBooks(10), policy, absl::Minutes(8));
  EXPECT_THAT(memory.Update(without, policy, absl::Minutes(17)).release, IsEmpty());
  EXPECT_THAT(memory.Update(without, policy, absl::Minutes(32)).release, ElementsAre("uid-1"));
}

TEST(OrphanMemory, ForgetsWithTheLeadership) {
  OrphanMemory memory;
  const OrphanPolicy policy;
  (void)memory.Update(WithGhosts({"g"}), policy, absl::Minutes(0));
  memory.Forget();
  EXPECT_THAT(memory.Update(WithGhosts({"g"}), policy, absl::Minutes(20)).release, IsEmpty());
}

TEST(OrphanMemory, ReleasesAFewARoundThoseKnownLongestFirst) {
  OrphanMemory memory;
  OrphanPolicy policy;
  policy.most_a_round = 2;
  (void)memory.Update(WithGhosts({"c"}, 40), policy, absl::Minutes(0));
  (void)memory.Update(WithGhosts({"a", "b", "c"}, 40), policy, absl::Minutes(5));
  EXPECT_THAT(memory.Update(WithGhosts({"a", "b", "c"}, 40), policy, absl::Minutes(30)).release,
              ElementsAre("c", "a"));
  EXPECT_THAT(memory.Update(WithGhosts({"b"}, 40), policy, absl::Minutes(35)).release,
              ElementsAre("b"));
}

// What lifecycle asked for before it was restored to a past may be somebody's work.
TEST(OrphanMemory, WhatWasAskedForInAnEarlierHistoryIsKeptForAPerson) {
  Books books = ClosedBooks(10);
  books.history_floor = 100;
  for (HoldingEntry& holding : books.holdings) holding.generation = 7;  // its pools are known
  ClaimEntry old, young;
  old.pool_uid = "old";
  old.generation = 99;
  young.pool_uid = "young";
  young.generation = 100;
  books.claims.push_back(old);
  books.claims.push_back(young);
  OrphanMemory memory;
  OrphanPolicy policy;
  EXPECT_FALSE(memory.Update(books, policy, absl::Minutes(0)).withheld) << "nothing is due yet";
  OrphanVerdict verdict = memory.Update(books, policy, kGrace);
  EXPECT_THAT(verdict.release, ElementsAre("young"));
  EXPECT_TRUE(verdict.withheld);
  EXPECT_EQ(verdict.of_the_past, 1);
  policy.mass_percent = 100;
  verdict = memory.Update(books, policy, kGrace);
  EXPECT_THAT(verdict.release, ElementsAre("old", "young"));
  EXPECT_FALSE(verdict.withheld);
}

// Its holding and its claim went; nothing tells when lifecycle asked for what is left.
TEST(OrphanMemory, WhatOnlyConfigurationKnowsAfterARestoreIsKeptForAPerson) {
  Books books = WithGhosts({"g"});
  books.history_floor = 1;
  OrphanMemory memory;
  OrphanPolicy policy;
  EXPECT_FALSE(memory.Update(books, policy, absl::Minutes(0)).withheld) << "nothing is due yet";
  OrphanVerdict verdict = memory.Update(books, policy, kGrace);
  EXPECT_THAT(verdict.release, IsEmpty());
  EXPECT_TRUE(verdict.withheld);
  EXPECT_EQ(verdict.of_the_past, 1);
  policy.mass_percent = 100;
  verdict = memory.Update(books, policy, kGrace);
  EXPECT_THAT(verdict.release, ElementsAre("g"));
  EXPECT_FALSE(verdict.withheld);
}

struct Mass {
  size_t ghosts = 0;
  size_t pools = 0;
  int percent = 20;
  bool withheld = false;
};

TEST(OrphanMemory, AMassIsOnlyTold) {
  const std::vector<Mass> cases = {
      {1, 0, 20, false},  // all there is, but one
      {2, 0, 20, true},   // a lifecycle that knows nothing
      {2, 8, 20, false},  // 20 %
      {2, 7, 20, true},   // 22 %
      {20, 80, 20, false}, {21, 79, 20, true}, {100, 0, 100, false},
      {100, 0, 99, true},  {1, 5, 0, false},   {2, 500, 0, true},
  };
  for (const Mass& mass : cases) {
    SCOPED_TRACE(absl::StrCat(mass.ghosts, " of ", mass.ghosts + mass.pools));
    OrphanPolicy policy;
    policy.mass_percent = mass.percent;
    std::vector<std::string> ghosts;
    for (size_t i = 0; i < mass.ghosts; ++i) ghosts.push_back(absl::StrCat("ghost-", i));
    OrphanMemory memory;
    EXPECT_FALSE(memory.Update(WithGhosts(ghosts, mass.pools), policy, absl::Minutes(0)).withheld)
        << "nothing is due yet";
    const OrphanVerdict verdict = memory.Update(WithGhosts(ghosts, mass.pools), policy, kGrace);
    EXPECT_EQ(verdict.withheld, mass.withheld);
    EXPECT_EQ(verdict.release.empty(), mass.withheld);
    EXPECT_EQ(verdict.orphans, static_cast<int64_t>(mass.ghosts));
  }
}

// Whatever comes and goes: what is released had no pool in any snapshot for the whole grace, at
// most so many a round, and every orphan's turn comes.
TEST(OrphanMemory, NeverReleasesWhatHadAPoolWithinTheGrace) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto uniform = [&](size_t n) { return static_cast<size_t>(random() % n); };
    OrphanPolicy policy;
    policy.mass_percent = 100;
    policy.most_a_round = 1 + static_cast<int>(uniform(3));
    OrphanMemory memory;
    std::map<std::string, absl::Duration> last_sound;  // with a pool, or unknown to all
    absl::Duration now = {};
    for (int round = 0; round < 40; ++round) {
      now += absl::Minutes(uniform(8));
      Books books = ClosedBooks(6);
      for (size_t i = books.pools.size(); i-- > 0;) {
        if (uniform(4) == 0) continue;
        books.pools.erase(books.pools.begin() + static_cast<std::ptrdiff_t>(i));
      }
      for (const PoolEntry& pool : books.pools) last_sound[pool.uid] = now;
      const OrphanVerdict verdict = memory.Update(books, policy, now);
      EXPECT_LE(verdict.release.size(), static_cast<size_t>(policy.most_a_round));
      for (const std::string& uid : verdict.release) {
        const auto sound = last_sound.find(uid);
        if (sound != last_sound.end()) {
          EXPECT_GE(now - sound->second, policy.grace) << uid;
        }
        EXPECT_FALSE(sound != last_sound.end() && sound->second == now) << uid;
      }
    }
    Books ghosts = ClosedBooks(6);
    ghosts.pools.clear();
    std::set<std::string> released;
    for (int round = 0; round < 12; ++round) {
      now += policy.grace;
      for (const std::string& uid : memory.Update(ghosts, policy, now).release) {
        released.insert(uid);
        std::erase_if(ghosts.holdings, [&](const auto& entry) { return entry.pool_uid == uid; });
        std::erase_if(ghosts.claims, [&](const auto& entry) { return entry.pool_uid == uid; });
        std::erase_if(ghosts.configurations,
                      [&](const auto& entry) { return entry.pool_uid == uid; });
      }
    }
    EXPECT_THAT(released, SizeIs(6));
  }
}

}  // namespace
}  // namespace muster::lifecycle
