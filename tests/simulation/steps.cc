// What can happen in a step.
#include <algorithm>

#include "tests/simulation/world.h"

namespace muster::simulation {

void World::PassTime() {
  const int pace = dice_.Roll(100);
  if (pace < 40) return;  // two things at the same time
  cloud_.now += pace < 92   ? dice_.UpTo(absl::Seconds(2))
                : pace < 99 ? dice_.UpTo(absl::Minutes(1))
                            : dice_.UpTo(absl::Minutes(5));
}

std::vector<std::string> World::PoolNames() const {
  std::vector<std::string> names;
  for (const auto& [name, pool] : cloud_.lifecycle.state().table<lifecycle::Pool>().rows()) {
    names.push_back(name);
  }
  return names;
}

// --- the shell and what is between the services ---

void World::StepReplica() {
  // The second one mostly sleeps: what it does is long out of date when it wakes.
  Replica& replica = replicas_[dice_.Percent(weather_.frozen) ? 1 : 0];
  if (dice_.Percent(weather_.death)) {
    cloud_.trace(cloud_.now, replica.name(), ": dies");
    return replica.Die();
  }
  if (replica.busy()) return replica.Step();
  const std::vector<std::string> names = PoolNames();
  if (names.empty() || replica.epoch == 0) return;
  std::vector<std::string> batch;
  for (int i = dice_.Roll(4); i >= 0; --i) {
    const std::string& name = dice_.Pick(names);
    if (std::find(batch.begin(), batch.end(), name) == batch.end()) batch.push_back(name);
  }
  replica.Begin(batch);
}

void World::StepQuestion() {
  if (advisor_.busy()) return advisor_.Step();
  const std::vector<std::string> names = PoolNames();
  if (names.empty()) return;
  const std::string& name = dice_.Pick(names);
  if (dice_.OneIn(2)) {
    survey_.Saw("question: explanation");
    return advisor_.Begin({name});
  }
  lifecycle::ApplyNodePool change{.name = name, .spec = SomeSpec(name)};
  change.target_nodes = SomeTarget(name);
  const auto outcome = cloud_.lifecycle.Run(change, cloud_.now, true);
  if (!outcome.ok()) return;
  survey_.Saw("question: preview");
  advisor_.Preview(*outcome->pool);
}

void World::MoveLease() {
  Replica& replica = replicas_[static_cast<size_t>(dice_.OneIn(4) ? 1 : 0)];
  const int64_t epoch = ++lease_epoch_;
  if (!cloud_.lifecycle.Run(lifecycle::TakeLease{replica.name(), epoch}, cloud_.now).ok()) {
    return judge_.Fail("a newer epoch is refused");
  }
  replica.epoch = epoch;  // the other one is not told
  cloud_.trace(cloud_.now, replica.name(), ": leads, epoch ", epoch);
}

void World::StepFleet() {
  const int kind = dice_.Roll(20);
  if (kind < 2) {
    if (!fleet_.DeliverLate()) judge_.Fail("a report about an earlier Node was obeyed");
    return;
  }
  if (kind == 2 && dice_.OneIn(5)) return fleet_.Restart();
  if (kind < 8) fleet_.Tell();
  fleet_.Step();
}

void World::StepNetwork() {
  if (dice_.OneIn(4)) {
    SettleConfigurations(false);
    return;
  }
  if (dice_.OneIn(2) && network_.DeliverOne()) {
    survey_.Saw("message: late");
    return cloud_.trace(cloud_.now, "network: that came late");
  }
  network_.quota_away = dice_.Percent(weather_.lost_call);
  network_.capacity_away = dice_.Percent(weather_.lost_call);
  network_.configuration_away = dice_.Percent(weather_.lost_call);
  network_.catalogue_known = !dice_.Percent(weather_.lost_call);
}

void World::Restart() {
  switch (dice_.Roll(4)) {
    case 0:
      return cloud_.lifecycle.Restart();
    case 1:
      return cloud_.quota.Restart();
    case 2:
      return cloud_.capacity.Restart();
    default:
      return cloud_.configuration.Restart();
  }
}

}  // namespace muster::simulation
