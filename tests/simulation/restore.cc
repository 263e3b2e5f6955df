// Services go back to a past of theirs: a backup is restored, or a standby without the last commits
// becomes the database.
#include <algorithm>

#include "tests/simulation/world.h"

namespace muster::simulation {

size_t World::SomeCommits(size_t past) {
  const int most = random_.OneIn(2) ? 3 : random_.OneIn(2) ? 30 : 600;
  return std::min(past, static_cast<size_t>(1 + random_.Uniform(most)));
}

const std::vector<World::Where>& World::Services() {
  static const auto& all = *new std::vector<Where>{Where::kLifecycle, Where::kQuota,
                                                   Where::kCapacity, Where::kConfiguration};
  return all;
}

World::Where World::SomeService() { return random_.Pick(Services()); }

void World::StepRestore() {
  if (!to_restore_.empty()) {
    const auto [where, then] = to_restore_.back();
    to_restore_.pop_back();
    return Restore(where, then);
  }
  if (!random_.OneIn(5)) return Restore(SomeService(), SomeCommits(600));
  // In any order, and things happen between.
  const absl::Time then = cloud_.lifecycle.TimeBefore(SomeCommits(cloud_.lifecycle.past()));
  for (const Where where : Services()) {
    const auto at = random_.Uniform(static_cast<int>(to_restore_.size()) + 1);
    to_restore_.insert(to_restore_.begin() + at, {where, then});
  }
  survey_.Saw("restore: of several");
}

// Lifecycle goes back to when there was a pool whose rest is about to be given back: the moment at
// which the orphan collector's last look counts.
bool World::RestoreUnderCollector() {
  const std::string* uid = collectors_[0].next();
  if (!may_go_back_ || uid == nullptr || random_.OneIn(3)) return false;
  const size_t commits = cloud_.lifecycle.CommitsSince<lifecycle::Pool>(
      [&](const lifecycle::Pool& pool) { return pool.uid == *uid; });
  if (commits == 0) return false;
  may_go_back_ = false;
  Restore(Where::kLifecycle, commits);
  return true;
}

void World::Restore(Where where, Point point) {
  const auto restore = [&](auto& service, absl::string_view name) {
    const int64_t before = service.revision();
    const auto lost = std::visit([&](const auto& to) { return service.Restore(to); }, point);
    cloud_.trace(cloud_.now, "restore: ", name, " goes back from revision ", before, " to ",
                 service.revision());
    survey_.Saw(absl::StrCat("restore: ", name), before == service.revision() ? 0 : 1);
    checker_.Restored(lost);
    return lost;
  };
  switch (where) {
    case Where::kLifecycle:
      return LifecycleRestored(restore(cloud_.lifecycle, "lifecycle"));
    case Where::kQuota:
      restore(cloud_.quota, "quota");
      return ResyncAll();
    case Where::kCapacity:
      restore(cloud_.capacity, "capacity");
      HearStockAnew();
      return ResyncAll();
    case Where::kConfiguration:
      restore(cloud_.configuration, "configuration");
      return ResyncAll();
  }
}

// Agents will list their Nodes anew. The lease's row is restored, too, and a leader learns of that
// with its next beat.
void World::LifecycleRestored(const lifecycle::State& lost) {
  const lifecycle::State& state = cloud_.lifecycle.state();
  for (const lifecycle::State* rows : {&lost, &state}) {
    for (const auto& [name, node] : rows->table<lifecycle::Node>().rows())
      fleet_.Changed(node.row->name);
  }
  cloud_.lease.Restore(cloud_.lifecycle.TimeBefore(0));
  // Connections to it are not back at the same time.
  for (Replica& replica : replicas_) {
    if (calm() || replica.trouble() != Trouble::kNone || random_.OneIn(2)) continue;
    replica.Suffer(Trouble::kNoBeats, random_.UpTo(absl::Minutes(1)));
  }
  for (Replica& replica : replicas_) replica.settled->Clear();
  for (const std::string& name : PoolNames()) Due(name);
}

void World::ResyncAll() {
  for (const std::string& name : PoolNames()) Due(name, random_.UpTo(absl::Minutes(10)));
}

void World::RegisterLost() {
  for (const capacity::RegisterMachines& machines : registered_) {
    if (cloud_.capacity.state().FindMachine(machines.machines.front().id) == nullptr)
      (void)cloud_.capacity.Run(machines, cloud_.now);
  }
}

}  // namespace muster::simulation
