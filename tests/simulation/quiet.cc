// Quiet days: nothing fails, and one thing is changed at a time. Every pool that it concerns must
// hear of it from what the services tell each other: there is no resync, and no pool is looked at
// by chance.
#include <algorithm>

#include "services/lifecycle/core/explain.h"
#include "tests/simulation/sayings.h"
#include "tests/simulation/world.h"

namespace muster::simulation {
namespace {

constexpr int kChanges = 12;
// More rounds than anything under way needs.
constexpr int kRounds = 5'000;
// Within which what is said is so: an autoscaled pool hears of the others of its quota after 30 s.
constexpr absl::Duration kSoon = absl::Seconds(31);

std::string RevisionsText(const Cloud& cloud) {
  return absl::StrCat("lifecycle ", cloud.lifecycle.revision(), ", quota ", cloud.quota.revision(),
                      ", capacity ", cloud.capacity.revision(), ", configuration ",
                      cloud.configuration.revision());
}

}  // namespace

void World::LiveQuietly() {
  cloud_.trace(cloud_.now, "--- quiet days");
  for (int i = 0; i < kChanges && !checker_.failed(); ++i) {
    switch (random_.Uniform(3)) {
      case 0:
        MoveMachine();
        break;
      case 1:
        StepAdmin();
        break;
      default:
        StepCaller();
    }
    if (!ComeToQuiet()) return checker_.Fail("it does not come to quiet");
    CheckSaid();
    if (!PassQuietly(random_.UpTo(absl::Minutes(2))))
      return checker_.Fail("it does not come to quiet as time passes");
  }
  Heal();
}

// Lets time pass; each pool is looked at when it becomes due. False: they never came to rest.
bool World::PassQuietly(absl::Duration time) {
  for (const absl::Time end = cloud_.now + time; cloud_.now < end && !checker_.failed();) {
    cloud_.Pass(std::min(end - cloud_.now, replicas_[0].agenda->UntilNext()));
    if (!ComeToQuiet()) return false;
  }
  return true;
}

// Lets all go on until nobody does anything within a moment.
bool World::ComeToQuiet() {
  Replica& leader = replicas_[0];
  for (int round = 0; round < kRounds && !checker_.failed(); ++round) {
    cloud_.Pass(absl::Milliseconds(1));
    cloud_.quota.Run(quota::ApplyOverrides{}, cloud_.now);
    const bool acted = fleet_.ActAll() | SettleConfigurations(true);
    const std::vector<std::string> pools = leader.agenda->Take(200);
    leader.Pass(pools);
    checker_.CheckStep();
    if (acted || !pools.empty()) continue;
    if (leader.agenda->UntilNext() > kSoon) return true;
    cloud_.Pass(leader.agenda->UntilNext());
  }
  return checker_.failed();
}

// A look at a pool that is not due must find nothing to do, and all that the pool says must be
// true.
void World::CheckSaid() {
  for (const std::string& name : PoolNames()) {
    if (checker_.failed()) return;
    const std::string before = RevisionsText(cloud_);
    replicas_[0].Pass({name});
    if (RevisionsText(cloud_) != before)
      return checker_.Fail(
          absl::StrCat(name, ": at quiet, and a look at it finds something to do: ", before,
                       " became ", RevisionsText(cloud_)));
    const auto* pool = cloud_.lifecycle.state().table<lifecycle::Pool>().Find(name);
    if (pool == nullptr) continue;
    std::vector<lifecycle::Obstacle> obstacles;
    advisor_.explained = [&](const auto& found) { obstacles = found; };
    advisor_.Pass({name});
    advisor_.explained = nullptr;
    survey_.Saw("quiet: a pool speaks");
    const std::string fault = Contradiction(cloud_, *pool, obstacles);
    if (!fault.empty()) FailOf(*pool, absl::StrCat("at quiet: ", fault));
  }
}

}  // namespace muster::simulation
