#include "services/kubernetes/node_lists.h"

#include "absl/cleanup/cleanup.h"
#include "services/common/error.h"
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
    absl::erase_if(runs_, [this](const auto& each) { return !Stands(*each.second); });
    const auto [known, is_new] = runs_.try_emplace(pool_uid, run);
    if (!is_new) {
      const std::shared_ptr<const Run> others = known->second;
      while (!others->ended) ended_.Wait(mutex_);
      return others;
    }
  }
  absl::StatusOr<Machines> machines = error::Unavailable("The list was broken off.");
  // Others wait for it, also where it throws.
  const absl::Cleanup ends = [&] {
    MutexLock lock(mutex_);
    run->machines = std::move(machines);
    run->end_time = clock_.Now();
    run->ended = true;
    ended_.SignalAll();
  };
  machines = list_(pool_uid);
  return run;
}

bool NodeLists::Stands(const Run& run) const {
  return !run.ended || (run.machines.ok() && clock_.Now() - run.end_time < kStands);
}

}  // namespace muster::kubernetes
