#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <type_traits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/capacity/core/audit.h"
#include "services/capacity/core/gang.h"
#include "services/capacity/core/limits.h"
#include "services/capacity/core/offer.h"
#include "services/capacity/core/parts.h"
#include "services/capacity/core/test_history.h"
#include "services/common/error.h"
#include "services/common/generation.h"

// Random histories. After every step the rows alone show, by naive counting, that semantics.md 5
// was kept; Audit holds the indexes against the rows.
namespace muster::capacity {
namespace {

constexpr uint32_t kHistories = 10'000;
constexpr int kSteps = 24;

using Rows = std::map<std::string, MachineRow>;
using Claims = std::map<std::string, ClaimRow>;

bool Offered(const State& state, const ClaimRow& claim) {
  return OfferOf(state, claim.zone, claim.instance_type, ComputeClass::kDefault) ==
             Offer::kOffered &&
         OfferOf(state, claim.zone, claim.instance_type, claim.compute_class) == Offer::kOffered;
}

QueueKey KeyOf(const ClaimRow& claim, absl::Time time) {
  return {claim.compute_class, claim.priority, time, claim.pool_uid};
}

// What one step did, and the world after it.
class Judge {
 public:
  Judge(RandomHistory& history, Rows before) : history_(history), before_(std::move(before)) {
    for (const auto& [key, versioned] : state().table<MachineRow>().rows())
      machines_[versioned.row->id] = *versioned.row;
    for (const auto& [key, versioned] : state().table<ClaimRow>().rows())
      claims_[versioned.row->pool_uid] = *versioned.row;
    for (const auto& [id, machine] : machines_) {
      const auto was = before_.find(id);
      if (machine.claim.empty()) continue;
      if (was != before_.end() && was->second.claim == machine.claim &&
          was->second.request_time == machine.request_time &&
          was->second.state_time == machine.state_time)
        continue;
      granted_.push_back(id);
    }
  }

  const Rows& machines() const { return machines_; }
  World& world() const { return history_.world(); }
  const State& state() const { return world().state(); }

  // No machine goes from one holder to another unless the first gives it back; none disappears.
  void NeverTwoHolders(const std::set<std::string>& returned) const {
    for (const auto& [id, was] : before_) {
      ASSERT_TRUE(machines_.contains(id)) << id << " is lost";
      const MachineRow& is = machines_.at(id);
      EXPECT_TRUE(was.claim.empty() || was.claim == is.claim || returned.contains(id)) << id;
      if (was.state == MachineState::kReclaiming && is.state == MachineState::kHeld &&
          was.claim == is.claim && !returned.contains(id)) {
        EXPECT_EQ(was.state_time, is.state_time) << id << " was held again with another age";
      }
    }
  }

  // Whoever got a free machine, nobody ahead that may have it goes without; oldest parts first.
  void OrderKept() const {
    std::map<std::string, absl::Time> oldest;  // of what a claim got
    for (const std::string& id : granted_) {
      const MachineRow& machine = machines_.at(id);
      const auto it = oldest.try_emplace(machine.claim, *machine.request_time).first;
      it->second = std::min(it->second, *machine.request_time);
    }
    for (const std::string& id : granted_) {
      const MachineRow& machine = machines_.at(id);
      const ClaimRow& winner = claims_.at(machine.claim);
      EXPECT_TRUE(winner.parts.empty() || *machine.request_time <= winner.parts[0].request_time);
      if (WasHandedOver(id) || history_.racks()) continue;
      const QueueKey place =
          KeyOf(winner, winner.gang ? oldest[machine.claim] : *machine.request_time);
      for (const auto& [uid, claim] : claims_) {
        if (uid == machine.claim || claim.parts.empty() || !Takes(claim, machine)) continue;
        if (!(FirstOf(claim) < place)) continue;
        EXPECT_TRUE(claim.gang && !CanBeMet(claim)) << id << " passed " << uid;
      }
    }
  }

  // No free machine beside a claim that may have it, unless a gang ahead keeps it.
  void QueueServed() const {
    if (history_.racks()) return;
    for (const auto& [id, machine] : machines_) {
      if (machine.state != MachineState::kFree) continue;
      for (const auto& [uid, claim] : claims_) {
        if (claim.gang || claim.parts.empty() || !Takes(claim, machine)) continue;
        const bool kept = std::any_of(
            claims_.begin(), claims_.end(), [&, &row = claim, &free = machine](const auto& other) {
              const ClaimRow& gang = other.second;
              return gang.gang && !gang.parts.empty() && FirstOf(gang) < FirstOf(row) &&
                     Takes(gang, free) && CanBeMet(gang);
            });
        EXPECT_TRUE(kept) << id << " is free and " << uid << " waits";
      }
    }
  }

  void GangAllOrNothing() const {
    for (const std::string& id : granted_) {
      const ClaimRow& claim = claims_.at(machines_.at(id).claim);
      EXPECT_TRUE(!claim.gang || claim.parts.empty()) << claim.pool_uid << " got a part of a gang";
    }
    for (const auto& [uid, claim] : claims_) {
      if (!claim.gang || claim.parts.empty() || history_.racks() || !Offered(state(), claim))
        continue;
      const bool keeps = !KeptGangs(state(), history_.depot()).empty();
      EXPECT_TRUE(keeps || CountFree(claim) < Outstanding(claim.parts)) << uid << " could be met";
    }
  }

  // A rack is one claim's, and comes whole.
  void RacksWhole() const {
    if (!history_.racks()) return;
    std::map<std::string, std::set<std::string>> holders;
    std::map<std::pair<std::string, std::string>, int64_t> now, then;
    for (const auto& [id, machine] : machines_) {
      if (machine.claim.empty()) continue;
      holders[machine.rack].insert(machine.claim);
      ++now[{machine.rack, machine.claim}];
    }
    for (const auto& [id, machine] : before_)
      if (!machine.claim.empty()) ++then[{machine.rack, machine.claim}];
    for (const auto& [rack, uids] : holders) EXPECT_EQ(uids.size(), 1u) << rack;
    for (const auto& [place, held] : now) {
      if (then[place] == 0) {
        EXPECT_GE(held, World::kNodesPerRack) << place.first;
      }
    }
    for (const auto& [uid, claim] : claims_) RackServed(claim);
  }

  // What is earmarked is what is missing; what could be had is reclaimed, what is not needed is
  // not.
  void ReclaimedAsNeeded() const {
    if (history_.racks()) return;
    std::map<std::string, int64_t> earmarked;
    for (const auto& [id, machine] : machines_) {
      if (!machine.earmark.empty()) ++earmarked[machine.earmark];
      EXPECT_TRUE(machine.state != MachineState::kReclaiming || !machine.earmark.empty() ||
                  *machine.reclaim_time + kSpotNotice <= world().now())
          << id << " is reclaimed for nobody";
    }
    for (const auto& [uid, nodes] : earmarked) ASSERT_TRUE(claims_.contains(uid)) << uid;
    std::map<std::string, int64_t> kept;
    for (const KeptGang& gang : KeptGangs(state(), history_.depot()))
      kept[gang.key.pool_uid] = gang.nodes;
    for (const auto& [uid, claim] : claims_) {
      const int64_t missing = Outstanding(claim.parts) - earmarked[uid] - kept[uid];
      EXPECT_LE(earmarked[uid], std::max<int64_t>(0, Outstanding(claim.parts) - kept[uid]))
          << uid << " has more reclaimed than it misses";
      if (claim.compute_class == ComputeClass::kSpot || !Offered(state(), claim)) continue;
      const int64_t to_be_had = CountToBeHad(claim);
      const bool done = missing <= 0 || (claim.gang ? to_be_had < missing : to_be_had == 0);
      EXPECT_TRUE(done) << uid << " misses " << missing << ", " << to_be_had << " could be had";
    }
  }

  // Of all spot claims that had a machine to give, the one took it that lost the least share.
  void ReclaimedFairly() const {
    std::map<std::string, std::string> last;  // spot claim → whom its last victim is for
    for (const auto& change : world().changes()) {
      const auto* row = std::get_if<std::shared_ptr<const MachineRow>>(&change.change.row);
      if (row == nullptr || *row == nullptr || !before_.contains((*row)->id)) continue;
      const MachineRow& was = before_.at((*row)->id);
      if (was.state == MachineState::kReclaiming && (*row)->state == MachineState::kHeld &&
          was.claim == (*row)->claim)
        return;  // a reclaim taken back changes the shares afterwards
      if (was.state != MachineState::kReclaiming && (*row)->state == MachineState::kReclaiming)
        last[(*row)->claim] = (*row)->earmark;
    }
    for (const auto& [loser, heir] : last) {
      for (const auto& [uid, claim] : claims_) {
        if (uid == loser || !HasToGive(claim, claims_.at(heir))) continue;
        EXPECT_LE(Reclaiming(loser) * Held(uid), (Reclaiming(uid) + 1) * Held(loser))
            << loser << " lost a machine rather than " << uid;
      }
    }
  }

  // Places and Nodes ahead are those that a sorted list of all parts gives.
  void PlacesTold() const {
    std::map<QueueKey, int64_t> queue;
    for (const auto& [uid, claim] : claims_) {
      for (const ClaimPart& part : claim.parts)
        queue[claim.gang ? FirstOf(claim) : KeyOf(claim, part.request_time)] += part.nodes;
    }
    for (const auto& [uid, claim] : claims_) {
      if (claim.parts.empty()) continue;
      QueuePlace place{1, 0};
      const QueueKey youngest =
          claim.gang ? FirstOf(claim) : KeyOf(claim, claim.parts.back().request_time);
      for (const auto& [key, nodes] : queue) {
        if (key < FirstOf(claim)) ++place.place;
        if (key < youngest && key.pool_uid != uid) place.nodes_ahead += nodes;
      }
      EXPECT_EQ(world().View(uid).queue, place) << uid;
    }
  }

 private:
  static QueueKey FirstOf(const ClaimRow& claim) {
    return KeyOf(claim, claim.parts[0].request_time);
  }
  static bool InService(const MachineRow& machine) {
    return machine.state == MachineState::kFree || !machine.claim.empty();
  }

  template <class Predicate>
  int64_t Count(Predicate predicate) const {
    return std::count_if(machines_.begin(), machines_.end(),
                         [&](const auto& entry) { return predicate(entry.second); });
  }
  int64_t Held(const std::string& uid) const {
    return Count([&](const MachineRow& machine) { return machine.claim == uid; });
  }
  int64_t Reclaiming(const std::string& uid) const {
    return Count([&](const MachineRow& machine) {
      return machine.claim == uid && machine.state == MachineState::kReclaiming;
    });
  }
  int64_t CountFree(const ClaimRow& claim) const {
    return Count([&](const MachineRow& machine) {
      return machine.state == MachineState::kFree && Matches(claim.affinity, machine.labels);
    });
  }
  int64_t CountToBeHad(const ClaimRow& claim) const {
    return Count([&](const MachineRow& machine) {
      const bool held = machine.state == MachineState::kHeld &&
                        claims_.at(machine.claim).compute_class == ComputeClass::kSpot;
      const bool loose = machine.state == MachineState::kReclaiming && machine.earmark.empty();
      return (held || loose) && Matches(claim.affinity, machine.labels);
    });
  }
  bool HasToGive(const ClaimRow& spot, const ClaimRow& to) const {
    return spot.compute_class == ComputeClass::kSpot &&
           Count([&](const MachineRow& machine) {
             return machine.claim == spot.pool_uid && machine.state == MachineState::kHeld &&
                    Matches(to.affinity, machine.labels);
           }) > 0;
  }
  bool Takes(const ClaimRow& claim, const MachineRow& machine) const {
    return Offered(state(), claim) && Matches(claim.affinity, machine.labels);
  }
  bool CanBeMet(const ClaimRow& gang) const {
    return Count([&](const MachineRow& machine) {
             return InService(machine) && machine.claim != gang.pool_uid &&
                    Matches(gang.affinity, machine.labels);
           }) >= Outstanding(gang.parts);
  }
  bool WasHandedOver(const std::string& id) const {
    const auto was = before_.find(id);
    return was != before_.end() && was->second.earmark == machines_.at(id).claim;
  }

  void RackServed(const ClaimRow& claim) const {
    if (claim.parts.empty() || claim.gang || !Offered(state(), claim)) return;
    std::map<std::string, int64_t> free;
    std::map<std::string, std::set<std::string>> holders;
    for (const auto& [id, machine] : machines_) {
      if (machine.state == MachineState::kFree && Matches(claim.affinity, machine.labels))
        ++free[machine.rack];
      if (!machine.claim.empty()) holders[machine.rack].insert(machine.claim);
    }
    const bool keeps = !KeptGangs(state(), history_.depot()).empty();
    for (const auto& [rack, machines] : free) {
      EXPECT_NE(holders[rack], std::set<std::string>{claim.pool_uid})
          << claim.pool_uid << " waits beside a free machine of its own rack " << rack;
      EXPECT_TRUE(keeps || !holders[rack].empty() || machines < World::kNodesPerRack ||
                  Outstanding(claim.parts) < World::kNodesPerRack)
          << claim.pool_uid << " waits beside the whole rack " << rack;
    }
  }

  RandomHistory& history_;
  const Rows before_;
  Rows machines_;
  Claims claims_;
  std::vector<std::string> granted_;  // machines that this step gave to a claim
};

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
  Overlay<State> theirs(rebuilt, world.revision());
  State copy = world.state();
  Overlay<State> ours(copy, world.revision());
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
  }
  ours.RollBack();
  EXPECT_TRUE(copy.SameIndexes(world.state()));
}

// A check answers what the same request gets, and once it is taken back nothing is left of it.
template <class Command>
void CheckSaysWhatASyncGets(const World& world, const Command& command) {
  if constexpr (std::is_same_v<Command, SyncClaim>) {
    State state = world.state();
    Overlay<State> overlay(state, world.revision());
    SyncClaims checked{{command}};
    const ClaimRow* known = state.FindClaim(command.pool_uid);
    if (command.generation == (known == nullptr ? 1 : known->generation + 1))
      checked.claims[0].generation = kNewestGeneration;
    const auto told = Check(overlay, checked, world.now());
    overlay.RollBack();
    EXPECT_TRUE(state.SameIndexes(world.state()));
    EXPECT_EQ(state.size(), world.state().size());
    const auto got = Decide(overlay, SyncClaims{{command}}, world.now());
    EXPECT_EQ(told[0].status(), got[0].status());
    EXPECT_TRUE(!told[0].ok() || *told[0] == *got[0]);
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
  const auto detail = muster::error::DetailOf(outcome.status());
  return outcome.ok() || !detail || detail->reason != "POOL_RELEASED";
}
template <class Outcome>
bool Accepted(const Outcome&) {
  return true;
}

// Returns how many requests came late.
int Play(uint32_t seed, bool racks) {
  int late = 0;
  RandomHistory history(seed, racks);
  Rows machines;
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
      const Judge judge(history, std::move(machines));
      judge.NeverTwoHolders(ReturnedBy(command));
      judge.OrderKept();
      judge.QueueServed();
      judge.GangAllOrNothing();
      judge.RacksWhole();
      judge.ReclaimedAsNeeded();
      judge.ReclaimedFairly();
      judge.PlacesTold();
      if (step % 4 == 3) {
        EXPECT_THAT(Audit(history.world().state()), testing::IsEmpty());
      }
      machines = judge.machines();
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
