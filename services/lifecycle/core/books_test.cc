// The books of the four services against each other: every kind of difference, what is on its way,
// and that books which are closed show none, whatever a pool goes through.
#include "services/lifecycle/core/books.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/testing/books.h"
#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = DifferenceKind;

std::vector<Kind> KindsOf(const Books& books) {
  std::vector<Kind> kinds;
  for (const Difference& difference : Differences(books)) kinds.push_back(difference.kind);
  return kinds;
}

TEST(Books, ClosedOnesDifferInNothing) {
  EXPECT_THAT(Differences({}), IsEmpty());
  EXPECT_THAT(Differences(ClosedBooks(1)), IsEmpty());
  EXPECT_THAT(Differences(ClosedBooks(7)), IsEmpty());
}

struct BooksCase {
  const char* name = "";
  std::function<void(Books&)> spoil = {};
  std::vector<Kind> kinds = {};
  bool passing = false;
  std::string words = {};  // of the first difference's message
};

// Of each: pool 0 has 3 Nodes, pool 1 has 3.
class EveryKind : public ::testing::TestWithParam<BooksCase> {};

TEST_P(EveryKind, IsFoundWithWhatDiffers) {
  Books books = ClosedBooks(2);
  GetParam().spoil(books);
  const std::vector<Difference> found = Differences(books);
  ASSERT_THAT(KindsOf(books), ::testing::ElementsAreArray(GetParam().kinds));
  for (const Difference& difference : found) {
    EXPECT_EQ(difference.passing, GetParam().passing) << difference.message;
    EXPECT_EQ(difference.pool_uid, "uid-1");
    EXPECT_EQ(difference.pool.empty(), difference.kind == Kind::kOrphanConfiguration);
  }
  EXPECT_THAT(found[0].message, ::testing::HasSubstr(GetParam().words));
}

INSTANTIATE_TEST_SUITE_P(
    Books, EveryKind,
    ::testing::Values(
        BooksCase{"PoolForgotten",
                  [](Books& b) { b.pools.pop_back(); },
                  {Kind::kOrphanHolding, Kind::kOrphanClaim, Kind::kOrphanConfiguration},
                  false,
                  "3 Nodes charged to a pool that does not exist."},
        BooksCase{"Undercharged",
                  [](Books& b) { b.holdings[1].nodes = 2; },
                  {Kind::kUndercharged},
                  false,
                  "Charged for 2; 3 Nodes, 3 held, 3 requested, 3 granted, 3 wanted."},
        BooksCase{
            "NotChargedAtAll", [](Books& b) { b.holdings.pop_back(); }, {Kind::kUndercharged}},
        BooksCase{"Overcharged",
                  [](Books& b) { b.holdings[1].nodes = 4; },
                  {Kind::kOvercharged},
                  true,
                  "Charged for 4"},
        BooksCase{"HeldBeyondWhatWasAskedFor",
                  [](Books& b) { b.pools[1].requested = 2; },
                  {Kind::kOverheld}},
        BooksCase{"GrantedAndNotYetANode",
                  [](Books& b) { b.pools[1].nodes.pop_back(); },
                  {Kind::kMachineWithoutNode},
                  true,
                  "m-1-2, and it is no Node of the pool"},
        BooksCase{"NodeOfAMachineThatIsNotHeld",
                  [](Books& b) { b.claims[1].machines.pop_back(); },
                  {Kind::kNodeWithoutMachine},
                  false,
                  "m-1-2 is a machine that the pool's claim does not hold"},
        BooksCase{"GivenBackAndNotYetPurged",
                  [](Books& b) {
                    b.claims[1].machines.pop_back();
                    b.pools[1].nodes.back().leaving = true;
                  },
                  {Kind::kNodeWithoutMachine},
                  true},
        BooksCase{
            "NoClaim",
            [](Books& b) { b.claims.pop_back(); },
            {Kind::kNodeWithoutMachine, Kind::kNodeWithoutMachine, Kind::kNodeWithoutMachine}},
        BooksCase{"NoConfiguration",
                  [](Books& b) { b.configurations.pop_back(); },
                  {Kind::kNoConfiguration},
                  true,
                  "3 Nodes and no configuration."},
        BooksCase{"HoldingElsewhere",
                  [](Books& b) { b.holdings[1].zone = "RNO2A"; },
                  {Kind::kForeignKey}},
        BooksCase{"HoldingOfAnotherOrganization",
                  [](Books& b) { b.holdings[1].organization = "evil"; },
                  {Kind::kForeignKey}},
        BooksCase{"ClaimElsewhere",
                  [](Books& b) { b.claims[1].compute_class = "spot"; },
                  {Kind::kForeignKey}},
        BooksCase{
            "OneMachineTwoPools",
            [](Books& b) {
              b.pools[1].nodes[0].machine = "m-0-0";
              b.claims[1].machines[0] = "m-0-0";
            },
            {Kind::kMachineTwice},
            false,
            "Machine m-0-0 is a Node of organizations/acme/clusters/c1/nodePools/p0 as well."}),
    [](const auto& of) { return of.param.name; });

TEST(Books, APoolThatGetsAMachineAnotherOneGaveBackIsNoDifferenceOfTwo) {
  Books books = ClosedBooks(2);
  // Pool 0 has given m-0-0 back and not yet heard of it; pool 1 has it already.
  books.pools[0].nodes[0].leaving = true;
  books.claims[0].machines.erase(books.claims[0].machines.begin());
  books.pools[1].nodes[0].machine = books.claims[1].machines[0] = "m-0-0";
  EXPECT_THAT(KindsOf(books), ElementsAre(Kind::kNodeWithoutMachine));
  EXPECT_TRUE(Differences(books)[0].passing);
}

TEST(Books, ATargetThatQuotaRefusesIsNoDifference) {
  Books books = ClosedBooks(1);
  books.pools[0].wanted = 50;
  EXPECT_THAT(Differences(books), IsEmpty());
  books.holdings[0].nodes = 50;  // and one that capacity has no machines for neither
  EXPECT_THAT(Differences(books), IsEmpty());
}

TEST(Books, SideBySideAddsUpByKey) {
  Books books = ClosedBooks(3);
  books.pools[2].zone = books.holdings[2].zone = books.claims[2].zone = "RNO2A";
  EXPECT_THAT(
      SideBySide(books),
      ElementsAre(BooksLine{"acme", "RNO2A", "gd-8xa100-i128", "default", 1, 3, 3, 3, 1},
                  BooksLine{"acme", "US-EAST-04A", "gd-8xa100-i128", "default", 2, 6, 6, 6, 2}));
  books.pools.pop_back();
  EXPECT_THAT(
      SideBySide(books),
      ElementsAre(BooksLine{"", "", "", "", 0, 0, 0, 0, 1},
                  BooksLine{"acme", "RNO2A", "gd-8xa100-i128", "default", 0, 0, 3, 3, 0},
                  BooksLine{"acme", "US-EAST-04A", "gd-8xa100-i128", "default", 2, 6, 6, 6, 2}));
}

// What a claim calls its pool is for people and need not be a name.
TEST(Books, AnOrphanClaimCountsForTheOrganizationThatItNames) {
  Books books = ClosedBooks(1);
  books.pools.clear();
  books.claims[0].pool = "the one for training";
  books.claims[0].organization = "acme";
  EXPECT_THAT(SideBySide(books), ElementsAre(BooksLine{"", "", "", "", 0, 0, 0, 0, 1},
                                             BooksLine{"acme", "US-EAST-04A", "gd-8xa100-i128",
                                                       "default", 0, 0, 3, 3, 0}));
}

TEST(Books, KindsHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (int i = 0; i < kDifferenceKinds; ++i)
    names.insert(std::string(DifferenceKindName(static_cast<Kind>(i))));
  EXPECT_EQ(names.size(), static_cast<size_t>(kDifferenceKinds));
  EXPECT_FALSE(names.contains(""));
}

// Any one entry that is lost, doubled in number or moved to nobody shows.
TEST(Books, WhateverIsChangedInClosedBooksShows) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto uniform = [&](size_t n) { return static_cast<size_t>(random() % n); };
    Books books = ClosedBooks(1 + uniform(5));
    const size_t i = uniform(books.pools.size());
    const auto erase = [](auto& from, size_t at) {
      from.erase(from.begin() + static_cast<std::ptrdiff_t>(at));
    };
    switch (uniform(10)) {
      case 0:
        erase(books.pools, i);
        break;
      case 1:
        erase(books.holdings, i);
        break;
      case 2:
        erase(books.claims, i);
        break;
      case 3:
        erase(books.configurations, i);
        break;
      case 4:
        books.holdings[i].pool_uid = "ghost";
        break;
      case 5:
        books.claims[i].pool_uid = "ghost";
        break;
      case 6:
        books.configurations.push_back({"ghost", 1});
        break;
      case 7:
        books.holdings[i].nodes += uniform(2) == 0 ? 1 : -1;
        break;
      case 8:
        erase(books.claims[i].machines, uniform(3));
        break;
      default:
        erase(books.pools[i].nodes, uniform(3));
    }
    EXPECT_FALSE(Differences(books).empty());
  }
}

// --- what a pool goes through ---

void Act(Simulation& sim, std::mt19937_64& random) {
  const auto uniform = [&](int n) { return static_cast<int>(random() % static_cast<uint64_t>(n)); };
  switch (uniform(12)) {
    case 0:
      if (!sim.pool()->deleting()) sim.Resize(uniform(9));
      return;
    case 1:
      if (uniform(4) == 0) sim.Delete();
      return;
    case 2:
      sim.quota_away = uniform(3) == 0;
      return;
    case 3:
      sim.capacity_away = uniform(3) == 0;
      return;
    case 4:
      sim.limit = 2 + uniform(9);
      return;
    case 5:
      return sim.Serve();
    case 6:
      return sim.Advance(absl::Minutes(uniform(20)));
    case 7:
    case 8:
      return static_cast<void>(sim.Agents());
    default:
      return static_cast<void>(sim.Pass(uniform(5) == 0));
  }
}

TEST(Books, OfAPoolShowNothingThatIsNotOnItsWay) {
  int64_t passing = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Simulation sim(seed);
    sim.Create(3);
    for (int step = 0; step < 200 && sim.pool() != nullptr; ++step) {
      Act(sim, random);
      for (const Difference& difference : Differences(BooksOf(sim))) {
        ASSERT_TRUE(difference.passing)
            << "step " << step << ": " << DifferenceKindName(difference.kind) << " "
            << difference.subject << ": " << difference.message;
        ++passing;
      }
    }
    sim.quota_away = sim.capacity_away = false;
    sim.limit = 50;
    ASSERT_TRUE(sim.pool() == nullptr || sim.Converge());
    EXPECT_THAT(Differences(BooksOf(sim)), IsEmpty()) << "at rest";
  }
  EXPECT_GT(passing, 1000) << "nothing was ever on its way: the test looks at too little";
}

}  // namespace
}  // namespace muster::lifecycle
