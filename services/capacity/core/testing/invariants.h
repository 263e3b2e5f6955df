#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "services/capacity/core/gang.h"
#include "services/capacity/core/limits.h"
#include "services/capacity/core/offer.h"
#include "services/capacity/core/parts.h"
#include "services/capacity/core/testing/history.h"

namespace muster::capacity {

// What one step of a random history did, and the world after it: by naive counting, the rows alone
// show whether the rules of queue, racks and spot were kept.
class InvariantChecker {
 public:
  using Rows = std::map<std::string, MachineRow>;
  using Claims = std::map<std::string, ClaimRow>;

  InvariantChecker(RandomHistory& history, Rows before)
      : history_(history), before_(std::move(before)) {
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

  // Whoever got a free machine, no request ahead that may have it goes without; oldest first.
  void OrderKept() const {
    for (const std::string& id : granted_) {
      const MachineRow& machine = machines_.at(id);
      const ClaimRow& winner = claims_.at(machine.claim);
      EXPECT_TRUE(winner.gang || winner.parts.empty() ||
                  *machine.request_time <= winner.parts[0].request_time);
      if (history_.racks()) continue;
      const QueueKey place = KeyOf(winner, *machine.request_time);
      for (const auto& [uid, claim] : claims_) {
        if (!Takes(claim, machine)) continue;
        for (const ClaimPart& part : claim.parts) {
          const QueueKey passed = KeyOf(claim, part.request_time);
          EXPECT_TRUE(!(passed < place) || MayBePassed(claim, part, winner, machine))
              << id << " passed " << uid;
        }
      }
    }
  }

  // No free machine beside a request that may have it, unless a gang ahead keeps it. A gang's that
  // is at once waits for all of it: GangAllOrNothing.
  void QueueServed() const {
    if (history_.racks()) return;
    for (const auto& [id, machine] : machines_) {
      if (machine.state != MachineState::kFree) continue;
      for (const auto& [uid, claim] : claims_) {
        if (!Takes(claim, machine)) continue;
        for (const ClaimPart& part : claim.parts) {
          EXPECT_TRUE(AtOnce(claim, part) || IsKept(machine, KeyOf(claim, part.request_time)))
              << id << " is free and " << uid << " waits";
        }
      }
    }
  }

  void GangAllOrNothing() const {
    for (const std::string& id : granted_) {
      const MachineRow& machine = machines_.at(id);
      const ClaimRow& claim = claims_.at(machine.claim);
      // One that replaces a lost one comes alone.
      if (!claim.gang || HeldSomeBefore(machine.claim, *machine.request_time) ||
          HasLost(claim, *machine.request_time))
        continue;
      for (const ClaimPart& part : claim.parts)
        EXPECT_NE(part.request_time, *machine.request_time) << claim.pool_uid << " got a part";
    }
    for (const auto& [uid, claim] : claims_) {
      if (!claim.gang || claim.parts.empty() || history_.racks() || !Offered(state(), claim))
        continue;
      for (const ClaimPart& part : claim.parts) {
        const QueueKey place = KeyOf(claim, part.request_time);
        const int64_t free = Count([&](const MachineRow& machine) {
          return machine.state == MachineState::kFree && Takes(claim, machine) &&
                 !IsKept(machine, place);
        });
        EXPECT_LT(free, part.nodes) << uid << " could be met";
      }
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
    for (const KeptGang& gang : KeptGangs(state(), history_.inventory()))
      kept[gang.position.request.pool_uid] = gang.nodes;
    for (const auto& [uid, claim] : claims_) {
      const int64_t missing = Outstanding(claim.parts) - earmarked[uid] - kept[uid];
      EXPECT_LE(earmarked[uid], std::max<int64_t>(0, Outstanding(claim.parts) - kept[uid]))
          << uid << " has more reclaimed than it misses";
      if (claim.compute_class == ComputeClass::kSpot || !Offered(state(), claim)) continue;
      if (missing <= 0) continue;
      const int64_t to_be_had = CountToBeHad(claim);
      // Of a gang's requests each is short by itself, and a gang ahead may need more than there is:
      // who of several gangs is helped is for tests/model.
      const bool done = claim.gang
                            ? to_be_had < missing || claim.parts.size() > 1 || AnotherGangWaits(uid)
                            : to_be_had == 0;
      EXPECT_TRUE(done) << uid << " misses " << missing << ", " << to_be_had << " could be had";
    }
  }

  // Of all spot claims that had a machine to give, the one took it that lost the least share. Fewer
  // waiting affinities come before shares: machines of the same labels are compared, and all while
  // no affinity waits.
  void ReclaimedFairly() const {
    struct Victim {
      std::string heir;
      Labels labels;
    };
    std::map<std::string, Victim> last;  // by spot claim
    for (const auto& change : world().changes()) {
      const auto* row = std::get_if<std::shared_ptr<const MachineRow>>(&change.change.row);
      if (row == nullptr || *row == nullptr || !before_.contains((*row)->id)) continue;
      const MachineRow& was = before_.at((*row)->id);
      if (was.state == MachineState::kReclaiming && (*row)->state == MachineState::kHeld &&
          was.claim == (*row)->claim)
        return;  // a reclaim taken back changes the shares afterwards
      if (was.state != MachineState::kReclaiming && (*row)->state == MachineState::kReclaiming)
        last[(*row)->claim] = {(*row)->earmark, (*row)->labels};
    }
    for (const auto& [loser, victim] : last) {
      for (const auto& [uid, claim] : claims_) {
        if (uid == loser || !HasToGive(claim, claims_.at(victim.heir), victim.labels)) continue;
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
        queue[KeyOf(claim, part.request_time)] += part.nodes;
    }
    for (const auto& [uid, claim] : claims_) {
      if (claim.parts.empty()) continue;
      QueuePlace place{1, 0};
      const QueueKey youngest = KeyOf(claim, claim.parts.back().request_time);
      for (const auto& [key, nodes] : queue) {
        if (key < FirstOf(claim)) ++place.place;
        if (key < youngest && key.pool_uid != uid) place.nodes_ahead += nodes;
      }
      EXPECT_EQ(world().View(uid).queue, place) << uid;
    }
  }

 private:
  static bool Offered(const State& state, const ClaimRow& claim) {
    return OfferOf(state, claim.zone, claim.instance_type, ComputeClass::kDefault) ==
               Offer::kOffered &&
           OfferOf(state, claim.zone, claim.instance_type, claim.compute_class) == Offer::kOffered;
  }

  static QueueKey KeyOf(const ClaimRow& claim, absl::Time time) {
    return {claim.compute_class, claim.priority, time, claim.pool_uid};
  }
  static QueueKey FirstOf(const ClaimRow& claim) {
    return KeyOf(claim, claim.parts[0].request_time);
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
  // Held by spot, or reclaimed for nobody, and no gang ahead of it that can be completed waits for
  // it, too.
  int64_t CountToBeHad(const ClaimRow& claim) const {
    const QueueKey last = KeyOf(claim, claim.parts.back().request_time);
    return Count([&](const MachineRow& machine) {
      const bool held = machine.state == MachineState::kHeld &&
                        claims_.at(machine.claim).compute_class == ComputeClass::kSpot;
      const bool loose = machine.state == MachineState::kReclaiming && machine.earmark.empty();
      return (held || loose) && Matches(claim.affinity, machine.labels) &&
             (claim.gang || !IsGangAhead(machine, last, false));
    });
  }
  bool HasToGive(const ClaimRow& spot, const ClaimRow& to, const Labels& labels) const {
    return spot.compute_class == ComputeClass::kSpot &&
           Count([&](const MachineRow& machine) {
             return machine.claim == spot.pool_uid && machine.state == MachineState::kHeld &&
                    Matches(to.affinity, machine.labels) &&
                    (machine.labels == labels || !AnAffinityWaits());
           }) > 0;
  }
  bool Takes(const ClaimRow& claim, const MachineRow& machine) const {
    return Offered(state(), claim) && Matches(claim.affinity, machine.labels);
  }
  // Whether the claim held machines of the request before this step and holds them still.
  bool HeldSomeBefore(const std::string& uid, absl::Time time) const {
    return std::any_of(machines_.begin(), machines_.end(), [&](const auto& entry) {
      return entry.second.claim == uid && entry.second.request_time == time &&
             std::count(granted_.begin(), granted_.end(), entry.first) == 0;
    });
  }
  bool AtOnce(const ClaimRow& claim, const ClaimPart& part) const {
    return claim.gang && Count([&](const MachineRow& machine) {
                           return machine.claim == claim.pool_uid &&
                                  machine.request_time == part.request_time;
                         }) == 0;
  }
  // Whether what is in service and in repair is enough for the gang's request, beside what its
  // older ones take of it.
  bool CanBeMet(const ClaimRow& gang, absl::Time time) const {
    int64_t reach = Count([&](const MachineRow& machine) {
      return machine.state != MachineState::kRetired && machine.claim != gang.pool_uid &&
             Matches(gang.affinity, machine.labels);
    });
    for (const ClaimPart& part : gang.parts) {
      if (part.request_time == time) return reach >= part.nodes;
      if (AtOnce(gang, part) && reach >= part.nodes) reach -= part.nodes;
    }
    return false;
  }
  // Whether a default gang waits ahead of the place, takes the machine and can be completed;
  // `coming`: one for which machines come.
  bool IsGangAhead(const MachineRow& machine, const QueueKey& place, bool coming) const {
    for (const auto& [uid, gang] : claims_) {
      if (gang.compute_class == ComputeClass::kSpot || !Takes(gang, machine)) continue;
      if (coming && CountEarmarked(uid) == 0) continue;
      for (const ClaimPart& part : gang.parts) {
        if (KeyOf(gang, part.request_time) < place && AtOnce(gang, part) &&
            CanBeMet(gang, part.request_time))
          return true;
      }
    }
    return false;
  }
  int64_t CountEarmarked(const std::string& uid) const {
    return Count([&](const MachineRow& machine) { return machine.earmark == uid; });
  }
  // From whoever stands there: from spot only by a gang for which machines come.
  bool IsKept(const MachineRow& machine, const QueueKey& place) const {
    return IsGangAhead(machine, place, place.compute_class == ComputeClass::kSpot);
  }
  // A gang that is not to be completed is passed, by default claims if it never can be; and what is
  // kept for a gang is lent to spot, past the gang and those behind it.
  bool MayBePassed(const ClaimRow& claim, const ClaimPart& part, const ClaimRow& winner,
                   const MachineRow& machine) const {
    const bool at_once = AtOnce(claim, part);
    if (claim.compute_class == ComputeClass::kSpot) return at_once;
    if (at_once && !CanBeMet(claim, part.request_time)) return true;
    return winner.compute_class == ComputeClass::kSpot &&
           (at_once || IsGangAhead(machine, KeyOf(claim, part.request_time), false));
  }
  bool AnotherGangWaits(const std::string& than) const {
    return std::any_of(claims_.begin(), claims_.end(), [&](const auto& entry) {
      return entry.first != than && entry.second.gang && !entry.second.parts.empty();
    });
  }
  bool AnAffinityWaits() const {
    return std::any_of(claims_.begin(), claims_.end(), [](const auto& entry) {
      return !entry.second.affinity.empty() && !entry.second.parts.empty();
    });
  }

  void RackServed(const ClaimRow& claim) const {
    if (claim.parts.empty() || claim.gang || !Offered(state(), claim)) return;
    std::map<std::string, int64_t> free;
    std::map<std::string, std::set<std::string>> holders;
    std::map<std::string, int64_t> held;
    for (const auto& [id, machine] : machines_) {
      if (machine.state == MachineState::kFree && Matches(claim.affinity, machine.labels))
        ++free[machine.rack];
      if (machine.claim.empty()) continue;
      holders[machine.rack].insert(machine.claim);
      ++held[machine.rack];
    }
    const bool keeps = !KeptGangs(state(), history_.inventory()).empty();
    for (const auto& [rack, machines] : free) {
      // A spare of a rack that it holds whole breaks up no rack's worth.
      EXPECT_TRUE(holders[rack] != std::set<std::string>{claim.pool_uid} ||
                  held[rack] >= World::kNodesPerRack)
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

}  // namespace muster::capacity
