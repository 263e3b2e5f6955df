#pragma once

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/capacity/core/decide.h"

namespace muster::capacity {

// A capacity service without threads, clock and database: for tests of the core and of what is
// built on it.
class World {
 public:
  static constexpr char kZone[] = "US-EAST-04A";
  static constexpr char kType[] = "gd-8xa100-i128";
  static constexpr char kRackType[] = "gb200-4x";
  static constexpr int32_t kNodesPerRack = 4;

  Policy policy = {};

  // Carries a command out and commits it.
  template <class Command>
  auto Do(const Command& command) {
    StagedState<State> staged(state_, revision_);
    auto outcome = [&] {
      if constexpr (requires { Decide(staged, command, now_, policy); }) {
        return Decide(staged, command, now_, policy);
      } else {
        return Decide(staged, command, now_);
      }
    }();
    changes_ = staged.changes();
    revision_ = staged.revision();
    return outcome;
  }
  // The same with what no command does: `change(staged state)`.
  template <class F>
  void Change(F change) {
    StagedState<State> staged(state_, revision_);
    change(staged);
    changes_ = staged.changes();
    revision_ = staged.revision();
  }

  // A general zone that offers both types, one of them in whole racks.
  void AddCatalogue() {
    InstanceTypeRow type{.id = kType,
                         .gpus = 8,
                         .gpu_model = "A100",
                         .vcpus = 128,
                         .memory_kib = 1,
                         .architecture = "amd64"};
    type.max_pods = 110;
    Do(UpdateInstanceType{type});
    type.id = kRackType;
    type.nodes_per_rack = kNodesPerRack;
    Do(UpdateInstanceType{type});
    Do(UpdateZone{{.id = kZone, .instance_types = {kType, kRackType}}});
  }

  static MachineRow Machine(const std::string& id, const std::string& fabric = "",
                            const std::string& rack = "", int32_t slot = 0,
                            const std::string& type = kType) {
    MachineRow machine;
    machine.id = id;
    machine.zone = kZone;
    machine.instance_type = type;
    machine.fabric = fabric;
    machine.rack = rack;
    machine.slot = slot;
    return machine;
  }

  void Register(std::vector<MachineRow> machines) {
    if (!Do(RegisterMachines{std::move(machines)}).ok()) std::abort();
  }

  // `count` machines of one rack: {rack}-0, {rack}-1, ...
  void RegisterRack(const std::string& fabric, const std::string& rack, int32_t count,
                    const std::string& type = kType) {
    std::vector<MachineRow> machines;
    for (int32_t slot = 0; slot < count; ++slot) {
      machines.push_back(Machine(absl::StrCat(rack, "-", slot), fabric, rack, slot, type));
    }
    Register(std::move(machines));
  }

  // `count` machines of any labels: m0, m1, ..., and on from there at the next call.
  void RegisterSome(int count, const Labels& labels = {}) {
    std::vector<MachineRow> machines;
    for (int i = 0; i < count; ++i) {
      machines.push_back(Machine(absl::StrCat("m", made_++)));
      machines.back().labels = labels;
    }
    Register(std::move(machines));
  }

  static std::vector<MachineReturn> Returns(const std::vector<std::string>& ids,
                                            ReturnReason reason = ReturnReason::kReleased) {
    std::vector<MachineReturn> returns;
    for (const std::string& id : ids) returns.push_back({id, reason});
    return returns;
  }

  // A request of the next generation.
  SyncClaim Want(const std::string& uid, int64_t nodes,
                 std::vector<MachineReturn> returns = {}) const {
    SyncClaim claim;
    const ClaimRow* known = state_.FindClaim(uid);
    claim.pool_uid = uid;
    claim.generation = known == nullptr ? 1 : known->generation + 1;
    claim.zone = kZone;
    claim.instance_type = known == nullptr ? kType : known->instance_type;
    claim.compute_class = known == nullptr ? ComputeClass::kDefault : known->compute_class;
    claim.priority = known == nullptr ? 0 : known->priority;
    if (known != nullptr) {
      claim.affinity = known->affinity;
      claim.gang = known->gang;
    }
    claim.nodes = nodes;
    claim.returns = std::move(returns);
    return claim;
  }

  // The same of class spot.
  SyncClaim WantSpot(const std::string& uid, int64_t nodes,
                     std::vector<MachineReturn> returns = {}) const {
    SyncClaim claim = Want(uid, nodes, std::move(returns));
    claim.compute_class = ComputeClass::kSpot;
    return claim;
  }
  SyncClaim WantGang(const std::string& uid, int64_t nodes) const {
    SyncClaim claim = Want(uid, nodes);
    claim.gang = true;
    return claim;
  }
  static SyncClaim OfRacks(SyncClaim claim) {
    claim.instance_type = kRackType;
    return claim;
  }
  static Affinity With(const std::string& key, std::vector<std::string> values) {
    return {{AffinityTerm{{{key, AffinityOperator::kIn, std::move(values)}}}}};
  }
  static SyncClaim Where(SyncClaim claim, const std::string& key, std::vector<std::string> values) {
    claim.affinity = With(key, std::move(values));
    return claim;
  }
  static MachineRow Labelled(MachineRow machine, const std::string& key, const std::string& value) {
    machine.labels[key] = value;
    return machine;
  }
  void RegisterLabelled(const std::vector<std::string>& ids, const std::string& key,
                        const std::string& value) {
    std::vector<MachineRow> machines;
    for (const std::string& id : ids) machines.push_back(Labelled(Machine(id), key, value));
    Register(std::move(machines));
  }

  ClaimView View(const std::string& uid) const { return ViewOf(state_, *state_.FindClaim(uid)); }
  std::vector<std::string> MachinesOf(const std::string& uid) const { return View(uid).machines; }
  MachineState StateOf(const std::string& machine) const {
    return state_.FindMachine(machine)->state;
  }

  void Advance(absl::Duration by) { now_ += by; }
  absl::Time now() const { return now_; }
  const State& state() const { return state_; }
  // Of the last Do.
  const std::vector<Revised<State::Change>>& changes() const { return changes_; }
  int64_t revision() const { return revision_; }

 private:
  State state_;
  int64_t revision_ = 0;
  absl::Time now_ = absl::FromUnixSeconds(1'750'000'000);
  std::vector<Revised<State::Change>> changes_;
  int made_ = 0;  // by RegisterSome
};

}  // namespace muster::capacity
