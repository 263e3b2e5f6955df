#include "services/capacity/core/arrivals.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace muster::capacity {
namespace {

using Row = std::shared_ptr<const MachineRow>;

struct Arrived {
  int64_t machines = 0;
  absl::Time since = absl::InfiniteFuture();
};
using ByClass = std::map<std::pair<InventoryKey, ComputeClass>, Arrived>;

// Since when the machine would have been seen to come, if the change brought it: since it was
// granted, or since who got it waited.
std::optional<absl::Time> CameAfter(const MachineRow* before, const MachineRow& after,
                                    const MachineRow& at_last) {
  if (before != nullptr) {
    const bool given_back = !before->claim.empty() && after.state == MachineState::kFree;
    return given_back ? std::optional(before->state_time) : std::nullopt;
  }
  const bool waited_for = at_last.request_time && *at_last.request_time < at_last.state_time;
  return waited_for ? at_last.request_time : std::nullopt;
}

ByClass ArrivedAfter(const StagedState<State>& staged, size_t mark) {
  ByClass arrived;
  for (size_t i = mark; i < staged.changes().size(); ++i) {
    const Row* after = std::get_if<Row>(&staged.changes()[i].change.row);
    if (after == nullptr || *after == nullptr) continue;
    const MachineRow& at_last = *staged.state().FindMachine((*after)->id);
    const auto since =
        CameAfter(std::get<Row>(staged.before(i).change.row).get(), **after, at_last);
    if (!since) continue;
    for (const ComputeClass one : {ComputeClass::kDefault, ComputeClass::kSpot}) {
      const bool taken = !at_last.claim.empty() && at_last.compute_class == ComputeClass::kDefault;
      if (one == ComputeClass::kSpot && taken) continue;
      Arrived& of_class = arrived[{{at_last.zone, at_last.instance_type}, one}];
      ++of_class.machines;
      of_class.since = std::min(of_class.since, *since);
    }
  }
  return arrived;
}

}  // namespace

void Arrive(std::vector<Burst>& bursts, int64_t machines, absl::Time since, absl::Time now) {
  if (bursts.empty()) bursts.push_back({std::min(since, now), 0});
  const int64_t gaps = std::max<int64_t>(1, static_cast<int64_t>(bursts.size()) - 1);
  const absl::Duration usual = (bursts.back().time - bursts.front().time) / gaps;
  if (bursts.size() > 1 && now - bursts.back().time <= usual / 2) {
    bursts.back().machines += machines;
    return;
  }
  bursts.push_back({now, machines});
  if (bursts.size() > kKeptBursts + 1) bursts.erase(bursts.begin());
}

void NoteArrivals(StagedState<State>& staged, size_t mark, absl::Time now) {
  for (const auto& [key, arrived] : ArrivedAfter(staged, mark)) {
    const auto& [inventory, compute_class] = key;
    const ArrivalsRow* known = staged.state().FindArrivals(inventory, compute_class);
    ArrivalsRow row =
        known != nullptr ? *known : ArrivalsRow{inventory.first, inventory.second, compute_class};
    Arrive(row.bursts, arrived.machines, arrived.since, now);
    staged.Put(std::move(row));
  }
}

}  // namespace muster::capacity
