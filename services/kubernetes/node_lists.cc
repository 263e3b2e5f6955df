#include "services/kubernetes/node_lists.h"

#include "absl/cleanup/cleanup.h"
#include "services/common/status_macros.h"

namespace muster::kubernetes {

absl::StatusOr<bool> NodeLists::Has(const std::string& pool_uid, const std::string& machine) {
  const std::shared_ptr<const Run> run = RunOf(pool_uid);
  RETURN_IF_ERROR(run->machines.status());
  return run->machines->contains(machine);
}

std::shared_ptr<const NodeLists::Run> NodeLists::RunOf(const std::string& pool_uid) {
  const auto run = std::make_shared<Run>();
  {
    MutexLock lock(mutex_);
    const absl::Duration came = clock_.Now();
    const auto stands = [&](const Run& each) { return came - each.begin_time < kStands; };
    for (;;) {
      absl::erase_if(runs_, [&](const auto& each) {
        return each.second->ended && !(each.second->machines.ok() && stands(*each.second));
      });
      const auto [known, is_new] = runs_.try_emplace(pool_uid, run);
      if (is_new) break;
      const std::shared_ptr<const Run> others = known->second;
      while (!others->ended) ended_.Wait(mutex_);
      if (stands(*others)) return others;
    }
    run->begin_time = clock_.Now();
  }
  // Others wait for it, also where it throws.
  const absl::Cleanup ends = [&] {
    MutexLock lock(mutex_);
    run->ended = true;
    ended_.SignalAll();
  };
  run->machines = list_(pool_uid);
  return run;
}

}  // namespace muster::kubernetes
