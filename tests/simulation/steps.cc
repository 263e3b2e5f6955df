// What can happen in a step.
#include <algorithm>

#include "tests/simulation/world.h"

namespace muster::simulation {

void World::PassTime() {
  if (random_.Uniform(1000) < weather_.clock) MoveClock();
  const int pace = random_.Uniform(100);
  if (pace < 40) return;  // two things at the same time
  cloud_.Pass(pace < 92   ? random_.UpTo(absl::Seconds(2))
              : pace < 99 ? random_.UpTo(absl::Minutes(1))
                          : random_.UpTo(absl::Minutes(5)));
}

// Somebody sets the time of day of a database's machine, or of the one where all of them are. No
// time goes by.
void World::MoveClock() {
  const bool is_ahead = random_.OneIn(3);
  const absl::Duration by = is_ahead ? absl::Minutes(31) : -random_.UpTo(absl::Minutes(2));
  const int which = random_.Uniform(8);
  int number = 0;
  for (absl::Duration* ahead : {&cloud_.lifecycle.ahead, &cloud_.quota.ahead,
                                &cloud_.capacity.ahead, &cloud_.configuration.ahead}) {
    if (which >= 4 || which == number++) *ahead += by;
  }
  checker_.ClocksSet();
  survey_.Saw(is_ahead ? "clock: half an hour ahead" : "clock: back");
  cloud_.trace(cloud_.now, "clock: ", which, " is set by ", absl::FormatDuration(by));
}

std::vector<std::string> World::PoolNames() const {
  std::vector<std::string> names;
  for (const auto& [name, pool] : cloud_.lifecycle.state().table<lifecycle::Pool>().rows()) {
    names.push_back(pool.row->name);
  }
  return names;
}

// --- the shell and what is between the services ---

size_t World::SomeReplica() {
  std::vector<size_t> some;
  for (size_t i = 0; i < replicas_.size(); ++i) {
    const Replica& replica = replicas_[i];
    const bool is_at_work = replica.epoch() != 0 || replica.busy();
    if (is_at_work && replica.trouble() != Trouble::kFrozen) some.push_back(i);
  }
  return some.empty() ? static_cast<size_t>(random_.Uniform(2)) : random_.Pick(some);
}

void World::StepReplica() {
  const size_t which = SomeReplica();
  Replica& replica = replicas_[which];
  if (replica.trouble() == Trouble::kNone) MakeTrouble(replica);
  if (random_.Percent(weather_.death)) {
    cloud_.trace(cloud_.now, replica.name(), ": dies");
    collectors_[which].Die();
    return replica.Die();
  }
  if (replica.trouble() == Trouble::kFrozen) return;
  if (random_.OneIn(12)) return collectors_[which].Step(replica.epoch());
  if (replica.busy()) return replica.Step();
  const std::vector<std::string> names = PoolNames();
  if (names.empty() || replica.epoch() == 0) return;
  // Some are looked at although nothing happened to them.
  for (int i = random_.Uniform(3); i > 0; --i) {
    replica.agenda->Add(random_.Pick(names), absl::ZeroDuration());
  }
  replica.Begin(replica.agenda->Take(static_cast<size_t>(1 + random_.Uniform(4))));
}

void World::StepQuestion() {
  if (advisor_.busy()) return advisor_.Step();
  const std::vector<std::string> names = PoolNames();
  if (names.empty()) return;
  const std::string& name = random_.Pick(names);
  if (random_.OneIn(2)) {
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

// What a frozen replica goes on with when it wakes is long out of date.
void World::MakeTrouble(Replica& replica) {
  if (random_.OneIn(6) && random_.Percent(weather_.frozen)) {
    replica.Suffer(Trouble::kFrozen, random_.UpTo(absl::Minutes(1)));
  } else if (random_.Uniform(1000) < weather_.cut_off) {
    static const auto& kinds = *new std::vector<Trouble>{Trouble::kNoCommits, Trouble::kNoChanges,
                                                         Trouble::kCommitsHang, Trouble::kNoBeats};
    replica.Suffer(random_.Pick(kinds), random_.UpTo(absl::Minutes(3)));
  }
}

void World::RestartReplica(size_t which) {
  if (replicas_[which].trouble() != Trouble::kNone) return;
  collectors_[which].Die();
  replicas_[which].Restart();
}

void World::Beat() {
  beats_ = 1 - beats_;
  replicas_[beats_].Beat();
  checker_.CheckLead({replicas_[0].standing(), replicas_[1].standing()});
}

void World::StepFleet() {
  const int kind = random_.Uniform(20);
  if (kind < 2) {
    if (!fleet_.DeliverLate()) checker_.Fail("a report about an earlier Node was obeyed");
    return;
  }
  if (kind == 2 && random_.OneIn(5)) return fleet_.Restart();
  if (kind < 8) fleet_.Tell();
  fleet_.Step();
}

void World::StepNetwork() {
  if (random_.OneIn(4)) {
    SettleConfigurations(false);
    return;
  }
  if (random_.OneIn(2) && network_.DeliverOne()) {
    survey_.Saw("message: late");
    return cloud_.trace(cloud_.now, "network: that came late");
  }
  network_.quota_away = random_.Percent(weather_.lost_call);
  network_.capacity_away = random_.Percent(weather_.lost_call);
  network_.configuration_away = random_.Percent(weather_.lost_call);
  network_.catalogue_known = !random_.Percent(weather_.lost_call);
}

void World::Restart() {
  switch (random_.Uniform(4)) {
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
