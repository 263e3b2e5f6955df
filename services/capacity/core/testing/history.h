#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "services/capacity/core/testing/world.h"

namespace muster::capacity {

// A random history of a small inventory: few machines, few claims, often two commands at the same
// time. What it draws follows from the seed alone.
class RandomHistory {
 public:
  RandomHistory(uint32_t seed, bool racks)
      : random_(seed), racks_(racks), type_(racks ? World::kRackType : World::kType) {
    spot_ = !racks && Roll(3) > 0;
    gangs_ = Roll(2) == 0;
    affinities_ = Roll(2) == 0;
    world_.AddCatalogue();
  }

  // Draws the next command, and calls run(command) once.
  template <class Run>
  void Step(Run run) {
    if (Roll(3) > 0) world_.Advance(absl::Seconds(Roll(50)));
    switch (Roll(12)) {
      case 0:
      case 1:
        return run(Registration());
      case 2:
        return run(NextState());
      case 3:
        return run(Sync(true));
      case 4:
        return run(NextZone());
      default:
        return run(Sync(false));
    }
  }

  World& world() { return world_; }
  bool racks() const { return racks_; }
  InventoryKey inventory() const { return {World::kZone, type_}; }
  int Roll(int sides) { return std::uniform_int_distribution<int>(0, sides - 1)(random_); }

 private:
  RegisterMachines Registration() {
    RegisterMachines command;
    const int rack = Roll(3);
    for (int slot = Roll(3); slot < 5; ++slot) {
      MachineRow machine =
          World::Machine(absl::StrCat("m", rack, "-", slot), absl::StrCat("f", rack % 2),
                         absl::StrCat("r", rack), slot, type_);
      if (affinities_ && Roll(3) > 0) machine.labels["disk"] = Roll(5) > 0 ? "nvme" : "hdd";
      command.machines.push_back(std::move(machine));
    }
    return command;
  }

  SetMachineState NextState() {
    constexpr MachineState kWanted[] = {MachineState::kFree, MachineState::kFree,
                                        MachineState::kFree, MachineState::kInRepair,
                                        MachineState::kRetired};
    return {absl::StrCat("m", Roll(3), "-", Roll(5)), kWanted[Roll(5)]};
  }

  UpdateZone NextZone() {
    ZoneRow zone{.id = World::kZone};
    if (Roll(4) > 0) zone.instance_types = {World::kType, World::kRackType};
    if (Roll(4) == 0) zone.access = ZoneAccess::kDedicated;
    return {zone};
  }

  std::vector<MachineReturn> SomeReturns(const std::string& uid, bool all) {
    std::vector<MachineReturn> returns;
    for (const MachineRow* machine : world_.state().FootprintOf(uid).machines) {
      const bool due = machine->reclaim_time.has_value();
      if (all || Roll(due ? 2 : 5) == 0)
        returns.push_back({machine->id, static_cast<ReturnReason>(Roll(3))});
    }
    if (Roll(8) == 0) returns.push_back({"not-there", ReturnReason::kBroken});
    return returns;
  }

  // One of five pools; once it was released another with a new uid, or sometimes a request of the
  // old one that comes late.
  std::string SomePool() {
    const int pool = Roll(5);
    int& life = lives_[pool];
    const auto uid = [pool](int which) { return absl::StrCat("p", pool, "-", which); };
    if (FindReleased(world_.state(), uid(life)) != nullptr) ++life;
    return uid(life > 0 && Roll(6) == 0 ? life - 1 : life);
  }

  SyncClaim Sync(bool release) {
    const std::string uid = SomePool();
    SyncClaim claim = world_.Want(uid, 0, SomeReturns(uid, release));
    const bool known = world_.state().FindClaim(uid) != nullptr;
    if (!known) claim.instance_type = type_;
    if (!known && spot_ && Roll(2) == 0) claim.compute_class = ComputeClass::kSpot;
    claim.release = release;
    if (release) return claim;
    claim.nodes = racks_ ? Roll(4) * World::kNodesPerRack - (Roll(8) == 0 ? 1 : 0) : Roll(7);
    claim.nodes = std::max<int64_t>(0, claim.nodes);
    if (Roll(4) == 0) claim.priority = Roll(3) - 1;
    if (gangs_ && Roll(4) == 0) claim.gang = Roll(2) == 0;
    if (affinities_ && Roll(3) == 0) claim.affinity = SomeAffinity();
    return claim;
  }

  Affinity SomeAffinity() {
    switch (Roll(4)) {
      case 0:
        return World::With("disk", {"nvme"});
      case 1:
        return World::With("disk", {"hdd", "tape"});
      case 2:
        return {{AffinityTerm{{{"disk", AffinityOperator::kDoesNotExist, {}}}},
                 AffinityTerm{{{"disk", AffinityOperator::kIn, {"hdd"}}}}}};
      default:
        return {};
    }
  }

  std::mt19937 random_;
  const bool racks_;
  const std::string type_;
  std::map<int, int> lives_ = {};
  bool spot_ = false;
  bool gangs_ = false;
  bool affinities_ = false;
  World world_;
};

}  // namespace muster::capacity
