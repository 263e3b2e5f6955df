#include "services/capacity/core/machine_list.h"

#include <queue>

namespace muster::capacity {
namespace {

using Ids = absl::btree_set<std::string>;

// What is left of one sorted set of ids.
struct Cursor {
  Ids::const_iterator next;
  Ids::const_iterator end;
  bool operator<(const Cursor& other) const { return *other.next < *next; }
};

bool MayHold(const InventoryKey& key, const MachineFilter& filter) {
  if (!filter.zone.empty() && key.first != filter.zone) return false;
  if (filter.zones && !filter.zones->contains(key.first)) return false;
  return filter.instance_type.empty() || key.second == filter.instance_type;
}

std::vector<const MachineRow*> ListHeld(const Footprint& footprint, const MachineFilter& filter,
                                        absl::string_view after, size_t limit) {
  const auto& held = footprint.machines;
  std::vector<const MachineRow*> machines;
  for (auto it = held.upper_bound(after); it != held.end() && machines.size() < limit; ++it) {
    if (Matches(filter, **it)) machines.push_back(*it);
  }
  return machines;
}

// The sets of ids of the machines that match, whoever holds them.
std::vector<const Ids*> SetsOf(const State& state, const MachineFilter& filter) {
  std::vector<const Ids*> sets;
  const auto& all = state.machine_ids();
  auto it = filter.zone.empty() ? all.begin() : all.lower_bound(InventoryKey(filter.zone, ""));
  for (; it != all.end() && (filter.zone.empty() || it->first.first == filter.zone); ++it) {
    if (!MayHold(it->first, filter)) continue;
    for (size_t of_state = 0; of_state < it->second.size(); ++of_state) {
      if (!filter.state || of_state == static_cast<size_t>(*filter.state))
        sets.push_back(&it->second[of_state]);
    }
  }
  return sets;
}

}  // namespace

bool Matches(const MachineFilter& filter, const MachineRow& machine) {
  return (filter.zone.empty() || machine.zone == filter.zone) &&
         (!filter.zones || filter.zones->contains(machine.zone.get())) &&
         (filter.instance_type.empty() || machine.instance_type == filter.instance_type) &&
         (filter.claim.empty() || machine.claim == filter.claim) &&
         (!filter.state || machine.state == *filter.state);
}

std::vector<const MachineRow*> ListMachines(const State& state, const MachineFilter& filter,
                                            absl::string_view after, size_t limit) {
  if (!filter.claim.empty()) return ListHeld(state.FootprintOf(filter.claim), filter, after, limit);
  std::priority_queue<Cursor> cursors;
  for (const Ids* ids : SetsOf(state, filter)) {
    const auto next = after.empty() ? ids->begin() : ids->upper_bound(after);
    if (next != ids->end()) cursors.push({next, ids->end()});
  }
  std::vector<const MachineRow*> machines;
  while (!cursors.empty() && machines.size() < limit) {
    Cursor cursor = cursors.top();
    cursors.pop();
    machines.push_back(state.FindMachine(*cursor.next));
    if (++cursor.next != cursor.end) cursors.push(cursor);
  }
  return machines;
}

}  // namespace muster::capacity
