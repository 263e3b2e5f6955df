// What can happen in a step.
#include <algorithm>

#include "tests/simulation/world.h"

namespace muster::simulation {

void World::PassTime() {
  if (dice_.Roll(1000) < weather_.clock) MoveClock();
  const int pace = dice_.Roll(100);
  if (pace < 40) return;  // two things at the same time
  cloud_.Pass(pace < 92   ? dice_.UpTo(absl::Seconds(2))
              : pace < 99 ? dice_.UpTo(absl::Minutes(1))
                          : dice_.UpTo(absl::Minutes(5)));
}

// Somebody sets the time of day of a database's machine, or of the one where all of them are. No
// time goes by.
void World::MoveClock() {
  const bool is_ahead = dice_.OneIn(3);
  const absl::Duration by = is_ahead ? absl::Minutes(31) : -dice_.UpTo(absl::Minutes(2));
  const int which = dice_.Roll(8);
  int number = 0;
  for (absl::Duration* ahead : {&cloud_.lifecycle.ahead, &cloud_.quota.ahead,
                                &cloud_.capacity.ahead, &cloud_.configuration.ahead}) {
    if (which >= 4 || which == number++) *ahead += by;
  }
  survey_.Saw(is_ahead ? "clock: half an hour ahead" : "clock: back");
  cloud_.trace(cloud_.now, "clock: ", which, " is set by ", absl::FormatDuration(by));
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
  const size_t which = dice_.Percent(weather_.frozen) ? 1 : 0;
  Replica& replica = replicas_[which];
  if (dice_.Percent(weather_.death)) {
    cloud_.trace(cloud_.now, replica.name(), ": dies");
    collectors_[which].Die();
    return replica.Die();
  }
  if (dice_.OneIn(12)) return collectors_[which].Step(replica.epoch);
  // Sooner or later it sees that it leads in another history than it took the lease in.
  if (replica.epoch != 0 && replica.incarnation != cloud_.lifecycle.incarnation() && dice_.OneIn(3))
    return Lead(replica);
  if (replica.busy()) return replica.Step();
  const std::vector<std::string> names = PoolNames();
  if (names.empty() || replica.epoch == 0) return;
  // Some are looked at although nothing happened to them.
  for (int i = dice_.Roll(3); i > 0; --i) {
    replica.agenda->Add(dice_.Pick(names), absl::ZeroDuration());
  }
  replica.Begin(replica.agenda->Take(static_cast<size_t>(1 + dice_.Roll(4))));
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

void World::MoveLease() { Lead(replicas_[static_cast<size_t>(dice_.OneIn(4) ? 1 : 0)]); }

void World::Lead(Replica& replica) {
  const int64_t epoch = ++lease_epoch_;
  if (!cloud_.lifecycle.Run(TakeLeaseOf(replica, epoch), cloud_.now).ok()) {
    return judge_.Fail("a newer epoch is refused");
  }
  replica.epoch = epoch;  // the other one is not told
  replica.incarnation = cloud_.lifecycle.incarnation();
  for (const std::string& name : PoolNames()) replica.agenda->Add(name, absl::ZeroDuration());
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
