#include "services/capacity/core/supply.h"

#include <iterator>
#include <optional>
#include <utility>

#include "services/capacity/core/machine_state.h"

namespace muster::capacity {

Supply::Supply(StagedState<State>& staged, const Inventory& inventory, absl::Time now,
               absl::Duration notice)
    : staged_(staged),
      inventory_(inventory),
      now_(now),
      notice_(notice),
      waiting_(inventory, false) {
  for (const auto& [uid, reclaims] : inventory_.spot().reclaims()) {
    for (const Reclaimed& reclaim : reclaims) {
      const MachineRow& machine = *staged_.state().FindMachine(reclaim.machine);
      coming_[machine.labels].insert(
          {now_ < reclaim.time + notice_, {machine.state_time, machine.id}});
    }
  }
}

int64_t Supply::Count(const EligibleMachines& eligible) const {
  if (inventory_.counts().reclaimable == 0 && coming_.empty()) return 0;
  int64_t count = 0;
  for (const auto& machines : inventory_.classes()) {
    const int64_t reclaimable = machines.second.counts.reclaimable;
    if (reclaimable > 0 && eligible.Has(inventory_, machines)) count += reclaimable;
  }
  for (const auto& [labels, machines] : coming_) {
    if (eligible.Has(inventory_, inventory_.ClassOf(labels))) count += std::ssize(machines);
  }
  return count;
}

void Supply::Fetch(const std::string& uid, const EligibleMachines& eligible, int64_t nodes) {
  Level level;
  for (; nodes > 0; --nodes, --level.left) {
    if (level.left == 0) level = LeastOf(eligible);
    const std::string id = Next(level);
    const MachineRow& machine = *staged_.state().FindMachine(id);
    promised_[machine.labels].push_back({id, uid});
    if (machine.state != MachineState::kReclaiming) Reclaim(machine);
  }
}

Supply::Level Supply::LeastOf(const EligibleMachines& eligible) {
  Level level{LeastWanted(inventory_, eligible, waiting_,
                          [&](const auto& machines) { return HasAnyOf(machines); })};
  level.left = Count(level.eligible);
  for (auto it = coming_.begin(); it != coming_.end(); ++it) {
    if (level.eligible.Has(inventory_, inventory_.ClassOf(it->first)))
      level.coming.emplace(*it->second.begin(), it);
  }
  return level;
}

std::string Supply::Next(Level& level) {
  if (level.coming.empty()) {
    if (!level.victims) level.victims.emplace(inventory_, level.eligible);
    return *level.victims->Next();
  }
  const auto [first, machines] = *level.coming.begin();
  level.coming.erase(level.coming.begin());
  machines->second.erase(first);
  if (machines->second.empty())
    coming_.erase(machines);
  else
    level.coming.emplace(*machines->second.begin(), machines);
  return first.held.id;
}

void Supply::Reclaim(MachineRow machine) {
  machine.state = capacity::Next(machine.state, MachineEvent::kReclaimed).value();
  machine.reclaim_time = now_;
  ++told_[machine.claim];
  staged_.Put(std::move(machine));
}

void Supply::TakeBack(const std::string& id) {
  MachineRow machine = *staged_.state().FindMachine(id);
  machine.earmark.clear();
  if (now_ < *machine.reclaim_time + notice_) {
    machine.state = capacity::Next(machine.state, MachineEvent::kReclaimCancelled).value();
    machine.reclaim_time.reset();
    ++told_[machine.claim];
  }
  staged_.Put(std::move(machine));
}

// Machines of the same labels can stand in for each other: a machine keeps its earmark as long as
// the promises give that claim as many.
void Supply::Earmark(const std::vector<Promise>& promises) {
  std::map<std::string, int64_t> open;
  for (const Promise& promise : promises) ++open[promise.uid];
  std::vector<std::string> rest;
  for (const Promise& promise : promises) {
    const auto kept = open.find(staged_.state().FindMachine(promise.machine)->earmark);
    if (kept != open.end() && kept->second > 0)
      --kept->second;
    else
      rest.push_back(promise.machine);
  }
  auto next = rest.begin();
  for (const auto& [uid, count] : open) {
    for (int64_t i = 0; i < count; ++i, ++next) {
      MachineRow machine = *staged_.state().FindMachine(*next);
      machine.earmark = uid;
      staged_.Put(std::move(machine));
    }
  }
}

void Supply::Finish() {
  for (const auto& [labels, machines] : coming_) {
    for (const Coming& coming : machines) TakeBack(coming.held.id);
  }
  for (const auto& [labels, promises] : promised_) Earmark(promises);
  for (const auto& [uid, changes] : told_) {
    ClaimRow claim = *staged_.state().FindClaim(uid);
    claim.reclaim_generation += changes;
    staged_.Put(std::move(claim));
  }
}

}  // namespace muster::capacity
