#include "tests/simulation/world.h"

#include <algorithm>

#include "services/lifecycle/core/names.h"
#include "tests/simulation/scene.h"
#include "tests/simulation/wishes.h"

namespace muster::simulation {
namespace {

// Clusters and the zones that they lie in.
constexpr std::pair<const char*, const char*> kClusters[] = {
    {"organizations/acme/clusters/c1", "US-EAST-04A"},
    {"organizations/acme/clusters/c2", "US-WEST-01A"},
    {"organizations/beta/clusters/c1", "US-EAST-04A"},
};

capacity::InstanceTypeRow Type(const std::string& id, int32_t gpus, int32_t per_rack) {
  capacity::InstanceTypeRow type{.id = id, .gpus = gpus};
  type.vcpus = 128;
  type.memory_kib = 1;
  type.architecture = "amd64";
  type.max_pods = 110;
  type.superchip = per_rack > 0;
  type.nodes_per_rack = per_rack;
  return type;
}

}  // namespace

World::World(const Options& options)
    : options_(options),
      random_(options.seed),
      weather_(Weather::Of(random_)),
      network_(random_, weather_),
      fleet_(cloud_, random_, weather_, options.bug),
      rack_nodes_(random_.OneIn(8) ? 18 : 2 + random_.Uniform(3)),
      checker_(cloud_, fleet_),
      survey_(cloud_),
      advisor_("advisor", Around(), Replica::Role::kAdvisor),
      requests_(cloud_, network_, random_, checker_, options.bug) {
  cloud_.trace.on = options.trace;
  policy_.boot_deadline = absl::Minutes(1 + random_.Uniform(10));
  policy_.drain_deadline = absl::Minutes(1 + random_.Uniform(10));
  policy_.retry = absl::Seconds(5);
  for (const char* name : {"replica-a", "replica-b"}) {
    replicas_.emplace_back(name, Around());
    collectors_.emplace_back(cloud_, network_, checker_, options.bug);
  }
  cloud_.quota.forgets_released = options.bug == Bug::kQuotaForgets;
  cloud_.capacity.forgets_released = options.bug == Bug::kCapacityForgets;
  cloud_.configuration.forgets_released = options.bug == Bug::kConfigurationForgets;
  for (bool* steps_back : {&cloud_.lifecycle.steps_back, &cloud_.quota.steps_back,
                           &cloud_.capacity.steps_back, &cloud_.configuration.steps_back})
    *steps_back = options.bug == Bug::kTimeStepsBack;
  Listen();
  MakeCatalogue();
  MakeClusters();
  for (int i = 0; i < 20; ++i) MoveLimit();
  for (int i = 0; i < 5; ++i) ApplySome(false);
  cloud_.beat = [this] { Beat(); };
  cloud_.Pass(Cloud::kBeat);
  // There was a world before.
  cloud_.lifecycle.ForgetPast();
  cloud_.quota.ForgetPast();
  cloud_.capacity.ForgetPast();
  cloud_.configuration.ForgetPast();
}

void World::MakeCatalogue() {
  cloud_.capacity.Run(capacity::UpdateInstanceType{Type(kGpuType, 8, 0)}, cloud_.now);
  cloud_.capacity.Run(capacity::UpdateInstanceType{Type(kCpuType, 0, 0)}, cloud_.now);
  cloud_.capacity.Run(capacity::UpdateInstanceType{Type(kRackType, 4, rack_nodes_)}, cloud_.now);
  for (const std::string& zone : Zones()) {
    cloud_.capacity.Run(capacity::UpdateZone{{.id = zone, .instance_types = Types()}}, cloud_.now);
    for (int rack = 0; rack < 3; ++rack) {
      RegisterRack(zone, kGpuType, ++next_rack_, 2 + random_.Uniform(5));
    }
    RegisterRack(zone, kCpuType, ++next_rack_, 2 + random_.Uniform(6));
    for (int rack = random_.Uniform(4); rack > 0; --rack) {
      RegisterRack(zone, kRackType, ++next_rack_, rack_nodes_);
    }
  }
  for (const char* version : {"2.10.1", "2.10.2"}) {
    (void)cloud_.configuration.Run(
        configuration::PublishRelease{configuration::Channel::kStable,
                                      configuration::Component::kNcoreImage, version},
        cloud_.now);
  }
  Release();
}

void World::RegisterRack(const std::string& zone, const std::string& type, int rack, int count) {
  capacity::RegisterMachines command = SomeRack(random_, zone, type, rack, count);
  if (!cloud_.capacity.Run(command, cloud_.now).ok()) checker_.Fail("machines are not taken");
  registered_.push_back(std::move(command));
}

void World::MakeClusters() {
  for (const auto& [name, zone] : kClusters) {
    const lifecycle::UpdateCluster command{.cluster = {.name = name, .zone = zone}};
    if (!cloud_.lifecycle.Run(command, cloud_.now).ok()) checker_.Fail("a cluster is not taken");
  }
}

void World::Step(int number) {
  cloud_.trace.step = number;
  PassTime();
  const int kind = random_.Uniform(100);
  if (!to_restore_.empty() ? random_.OneIn(10) : random_.Uniform(1000) < weather_.restores) {
    StepRestore();
  } else if (random_.Percent(weather_.questions)) {
    StepQuestion();
  } else if (kind < 55) {
    StepReplica();
  } else if (kind < 85 - weather_.callers) {
    StepFleet();
  } else if (kind < 85) {
    StepCaller();
  } else if (kind < 85 + weather_.admin) {
    StepAdmin();
  } else if (kind < 97) {
    StepNetwork();
  } else if (kind < 98) {
    if (random_.OneIn(4)) RestartReplica(SomeReplica());
  } else {
    Restart();
  }
  checker_.CheckStep();
  if (number % 50 == 0) checker_.CheckBooks();
}

Report RunWorld(const Options& options) {
  World world(options);
  Report report;
  for (int i = 1; i <= options.steps && !world.checker().failed(); ++i) {
    world.Step(i);
    report.step = i;
  }
  if (!world.checker().failed()) world.Finish();
  world.CountLateReports();
  report.failure = world.checker().failure();
  report.plans = world.checker().plans;
  report.happened = world.checker().happened();
  for (const auto& [kind, times] : world.checker().noticed()) world.Count(kind, times);
  report.seen = world.survey().counts();
  return report;
}

absl::string_view NameOf(Bug bug) {
  constexpr absl::string_view kNames[kBugs] = {"none",
                                               "no-version-check",
                                               "newest-generation",
                                               "quota-unheeded",
                                               "returns-forgotten",
                                               "silence-is-empty",
                                               "idle-forgotten",
                                               "events-twice",
                                               "machine-left-on",
                                               "clock-fast",
                                               "budget-forgotten",
                                               "disabled-forgotten",
                                               "late-report-obeyed",
                                               "explanation-writes",
                                               "quota-forgets",
                                               "capacity-forgets",
                                               "configuration-forgets",
                                               "generation-unbounded",
                                               "restore-unnoticed",
                                               "rebase-missing",
                                               "rebase-not-fenced",
                                               "collector-without-recheck",
                                               "collector-too-early",
                                               "time-steps-back",
                                               "give-up-without-bound",
                                               "request-forgotten",
                                               "request-id-unheeded",
                                               "starvation",
                                               "lease-by-who-cannot-commit",
                                               "lease-from-the-future",
                                               "limit-unheard",
                                               "stock-unheard",
                                               "catalogue-unheard"};
  return kNames[static_cast<size_t>(bug)];
}

}  // namespace muster::simulation
