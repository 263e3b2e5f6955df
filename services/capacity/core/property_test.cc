#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <type_traits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/capacity/core/audit.h"
#include "services/capacity/core/testing/history.h"
#include "services/capacity/core/testing/invariants.h"
#include "services/common/error.h"
#include "services/common/generation.h"
#include "services/common/testing/compare_indexes.h"

// Random histories. After every step InvariantChecker holds the rows against the rules, Audit the
// indexes against the rows.
namespace muster::capacity {
namespace {

constexpr uint32_t kHistories = 10'000;
constexpr int kSteps = 24;

// A state built from the same rows in another order makes the same changes.
template <class Command>
void SameStateSamePlacement(RandomHistory& history, const Command& command) {
  const World& world = history.world();
  std::vector<Revised<State::Change>> rows;
  world.state().ForEach([&](const Revised<State::Change>& row) { rows.push_back(row); });
  std::mt19937 order(static_cast<uint32_t>(rows.size()));
  std::shuffle(rows.begin(), rows.end(), order);
  State rebuilt;
  for (const auto& row : rows) rebuilt.Apply(row.change, row.revision);
  StagedState<State> theirs(rebuilt, world.revision());
  State copy = world.state();
  StagedState<State> ours(copy, world.revision());
  (void)Decide(theirs, command, world.now());
  (void)Decide(ours, command, world.now());
  ASSERT_EQ(ours.changes().size(), theirs.changes().size());
  for (size_t i = 0; i < ours.changes().size(); ++i) {
    const State::Change& a = ours.changes()[i].change;
    const State::Change& b = theirs.changes()[i].change;
    EXPECT_EQ(a.key, b.key);
    if (a.deleted() || b.deleted()) continue;
    if (const auto* machine = std::get_if<std::shared_ptr<const MachineRow>>(&a.row)) {
      EXPECT_EQ(**machine, *std::get<std::shared_ptr<const MachineRow>>(b.row));
    }
    if (const auto* claim = std::get_if<std::shared_ptr<const ClaimRow>>(&a.row)) {
      EXPECT_EQ(**claim, *std::get<std::shared_ptr<const ClaimRow>>(b.row));
    }
    if (const auto* arrivals = std::get_if<std::shared_ptr<const ArrivalsRow>>(&a.row)) {
      EXPECT_EQ(**arrivals, *std::get<std::shared_ptr<const ArrivalsRow>>(b.row));
    }
  }
  ours.RollBack();
  EXPECT_TRUE(copy.SameIndexes(world.state()));
}

// A check answers what the same request gets, and once it is taken back nothing is left of it.
template <class Command>
void CheckSaysWhatASyncGets(const World& world, const Command& command) {
  if constexpr (std::is_same_v<Command, SyncClaim>) {
    State state = world.state();
    StagedState<State> staged(state, world.revision());
    SyncClaims checked{{command}};
    const ClaimRow* known = state.FindClaim(command.pool_uid);
    if (command.generation == (known == nullptr ? 1 : known->generation + 1))
      checked.claims[0].generation = kNewestGeneration;
    const auto told = Check(staged, checked, world.now());
    staged.RollBack();
    EXPECT_TRUE(state.SameIndexes(world.state()));
    EXPECT_EQ(state.size(), world.state().size());
    const auto got = Decide(staged, SyncClaims{{command}}, world.now());
    EXPECT_EQ(told[0].status(), got[0].status());
    EXPECT_TRUE(!told[0].ok() || *told[0] == *got[0]);
  }
}

// The affinities that are known are those with which somebody waits, and what is known of them is
// what their texts say.
void CheckTakers(const State& state) {
  for (const auto& [key, inventory] : state.inventories()) {
    std::set<Affinity> waiting;
    for (const auto& [selector, line] : inventory.queue().lines()) {
      if (!selector.affinity.empty()) waiting.insert(selector.affinity);
    }
    EXPECT_EQ(inventory.affinities().entries().size(), waiting.size());
    for (const Affinity& affinity : waiting)
      EXPECT_NE(inventory.affinities().Find(affinity), nullptr);
    for (const auto& machines : inventory.classes()) {
      Takers takers;
      for (const auto& [affinity, entry] : inventory.affinities().entries()) {
        const bool matches = Matches(affinity, machines.first);
        EXPECT_EQ(inventory.Matches(affinity, machines), matches);
        if (matches) ++takers.all;
        if (matches && entry.by_default()) ++takers.by_default;
      }
      EXPECT_EQ(machines.second.takers, takers);
    }
  }
}

template <class Command>
std::set<std::string> ReturnedBy(const Command& command) {
  std::set<std::string> returned;
  if constexpr (std::is_same_v<Command, SyncClaim>) {
    for (const MachineReturn& given : command.returns) returned.insert(given.machine);
  }
  return returned;
}

// A request for a pool that was released before.
template <class Command>
bool IsLate(const State& state, const Command& command) {
  if constexpr (std::is_same_v<Command, SyncClaim>) {
    return !command.release && FindReleased(state, command.pool_uid) != nullptr;
  }
  return false;
}
template <class Outcome>
bool Accepted(const absl::StatusOr<Outcome>& outcome) {
  return muster::error::ReasonOf(outcome.status()) != "POOL_RELEASED";
}
template <class Outcome>
bool Accepted(const Outcome&) {
  return true;
}

// Returns how many requests came late.
int Play(uint32_t seed, bool racks) {
  int late = 0;
  RandomHistory history(seed, racks);
  InvariantChecker::Rows machines;
  const int rebuilt_at = history.Roll(kSteps);
  for (int step = 0; step < kSteps && !testing::Test::HasFailure(); ++step) {
    SCOPED_TRACE(step);
    history.Step([&](const auto& command) {
      if (step == rebuilt_at) {
        SameStateSamePlacement(history, command);
        CheckSaysWhatASyncGets(history.world(), command);
      }
      if (IsLate(history.world().state(), command)) {
        ++late;
        EXPECT_FALSE(Accepted(history.world().Do(command)));
        EXPECT_THAT(history.world().changes(), testing::IsEmpty());
      }
      (void)history.world().Do(command);
      const InvariantChecker checker(history, std::move(machines));
      checker.NeverTwoHolders(ReturnedBy(command));
      checker.OrderKept();
      checker.QueueServed();
      checker.GangAllOrNothing();
      checker.RacksWhole();
      checker.ReclaimedAsNeeded();
      checker.ReclaimedFairly();
      checker.PlacesTold();
      if (step % 4 == 3) {
        EXPECT_THAT(Audit(history.world().state()), testing::IsEmpty());
        CheckTakers(history.world().state());
      }
      if (step + 1 == kSteps) {
        const State rebuilt = Rebuild(history.world().state());
        EXPECT_THAT(CompareIndexes(IndexParts(rebuilt), history.world().state(), rebuilt),
                    testing::IsEmpty());
      }
      machines = checker.machines();
      if constexpr (std::is_same_v<std::decay_t<decltype(command)>, SyncClaim>) {
        (void)history.world().Do(command);
        EXPECT_TRUE(history.world().changes().empty())
            << "a request sent twice must have the effect of one";
      }
    });
  }
  return late;
}

TEST(CapacityPropertyTest, HistoriesOfSingleMachines) {
  int late = 0;
  for (uint32_t seed = 0; seed < kHistories && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    late += Play(seed, false);
  }
  EXPECT_GT(late, 1'000);
}

TEST(CapacityPropertyTest, HistoriesOfWholeRacks) {
  for (uint32_t seed = 0; seed < kHistories && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    (void)Play(seed, true);
  }
}

}  // namespace
}  // namespace muster::capacity
