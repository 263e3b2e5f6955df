#include <gmock/gmock.h>

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "services/musterctl/manifest/manifest.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_folder.h"

namespace muster::musterctl {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using testing::IsOk;
using ::testing::IsSupersetOf;
using ::testing::Pair;

// What a manifest of deploy/local holds.
struct Catalogue {
  std::map<std::string, std::set<std::string>> zones = {};  // id → types offered
  std::map<std::string, std::string> accesses = {};         // id of a zone → whose it is
  std::set<std::string> types = {};
  std::map<std::string, std::string> sizes = {};  // id of a type → see kPublicTypes
  std::map<std::string, int32_t> racks = {};      // types granted in whole racks → Nodes a rack
  std::vector<capacity::v1::Machine> machines = {};
  std::set<std::string> quotas = {};                 // organizations/.../quotas/...
  std::map<std::string, std::string> clusters = {};  // name → zone
  std::vector<lifecycle::v1::NodePool> pools = {};
  std::set<std::string> components = {};  // channel/component with a release

  void Add(const capacity::v1::Zone& zone) {
    zones[zone.name().substr(6)] = {zone.instance_types().begin(), zone.instance_types().end()};
    accesses[zone.name().substr(6)] = capacity::v1::Zone::Access_Name(zone.access());
  }
  void Add(const capacity::v1::InstanceType& type) {
    types.insert(type.name().substr(14));
    sizes[type.name().substr(14)] = absl::StrJoin(
        std::tuple(type.vcpus(), type.memory_kib(), type.gpus(), type.ephemeral_storage_kib(),
                   type.architecture(), type.max_pods()),
        " ");
    if (type.nodes_per_rack() > 0) racks[type.name().substr(14)] = type.nodes_per_rack();
  }
  void Add(const MachineSet& set) {
    machines.insert(machines.end(), set.machines.begin(), set.machines.end());
  }
  void Add(const capacity::v1::Machine& machine) { machines.push_back(machine); }
  void Add(const quota::v1::Quota& quota) { quotas.insert(quota.name()); }
  void Add(const configuration::v1::Release& release) {
    const std::vector<std::string> parts = absl::StrSplit(release.name(), '/');
    components.insert(absl::StrCat(parts[1], "/", parts[3]));
  }
  void Add(const lifecycle::v1::Cluster& cluster) { clusters[cluster.name()] = cluster.zone(); }
  void Add(const lifecycle::v1::NodePool& pool) { pools.push_back(pool); }
};

Catalogue Read(const std::string& file) {
  const std::string text =
      testing::ReadFile(absl::StrCat(MUSTER_SOURCE_DIR, "/deploy/local/", file));
  const auto manifests = ParseManifests(file, text, {.organization = "acme", .cluster = "example"});
  EXPECT_THAT(manifests, IsOk());
  Catalogue catalogue;
  if (!manifests.ok()) return catalogue;
  for (const Manifest& manifest : *manifests) {
    EXPECT_THAT(manifest.notes, IsEmpty()) << manifest.place;
    std::visit([&](const auto& resource) { catalogue.Add(resource); }, manifest.resource);
  }
  return catalogue;
}

TEST(Catalogue, FitsTogether) {
  const Catalogue catalogue = Read("catalogue.yaml");
  for (const auto& [zone, types] : catalogue.zones) {
    EXPECT_THAT(catalogue.types, IsSupersetOf(types)) << zone;
  }
  std::set<std::string> ids;
  for (const capacity::v1::Machine& machine : catalogue.machines) {
    ASSERT_TRUE(catalogue.zones.contains(machine.zone())) << machine.zone();
    EXPECT_THAT(catalogue.zones.at(machine.zone()), Contains(machine.instance_type()));
    EXPECT_TRUE(ids.insert(machine.name()).second) << machine.name();
  }
  for (const std::string& name : catalogue.quotas) {
    const std::vector<std::string> parts =
        absl::StrSplit(absl::string_view(name).substr(name.rfind('/') + 1), '~');
    ASSERT_TRUE(catalogue.zones.contains(parts[0])) << name;
    EXPECT_THAT(catalogue.zones.at(parts[0]), Contains(parts[1])) << name;
  }
  for (const auto& [cluster, zone] : catalogue.clusters)
    EXPECT_TRUE(catalogue.zones.contains(zone)) << cluster;
  EXPECT_THAT(catalogue.components,
              IsSupersetOf({"stable/gpu-driver", "stable/ncore-image", "stable/kubernetes",
                            "latest/gpu-driver", "latest/ncore-image", "latest/kubernetes"}));
}

TEST(Catalogue, HasEveryPublicInstanceType) {
  EXPECT_THAT(Read("catalogue.yaml").types,
              IsSupersetOf({"b200-8x",           "gd-8xh200ib-i128",
                            "gd-8xh100ib-i128",  "gd-8xa100-i128",
                            "gd-8xl40s-i128",    "gd-8xl40-i128",
                            "rtxp6000-8x",       "gd-1xgh200",
                            "cd-gp-i64-erapids", "cd-gp-l-i64-erapids",
                            "cd-gp-i96-icelake", "cd-hp-a96-genoa",
                            "cd-gp-a192-genoa",  "cd-gp-l-a192-genoa",
                            "cd-hc-a384-genoa",  "cd-hc-a384ib-genoa",
                            "turin-gp",          "turin-gp-l",
                            "gb200-4x",          "gb300-4x",
                            "b300-8x",           "rtxp6000-8x-v2",
                            "turin-gp-v2",       "cd-gp-i64-erapids-v2"}));
}

// The vendor's table: vCPUs, memory in KiB, GPUs, ephemeral storage in KiB, architecture and Pods
// at most.
constexpr std::pair<const char*, const char*> kPublicTypes[] = {
    {"b200-8x", "128 2112277172 8 30003181568 amd64 110"},
    {"gd-8xh200ib-i128", "128 2112109800 8 30003181568 amd64 110"},
    {"gd-8xh100ib-i128", "128 2112109804 8 30003181568 amd64 110"},
    {"gd-8xa100-i128", "128 2112249840 8 7499362648 amd64 110"},
    {"gd-8xl40s-i128", "128 1055337468 8 7499362648 amd64 110"},
    {"gd-8xl40-i128", "128 1055335508 8 7499362648 amd64 110"},
    {"rtxp6000-8x", "128 1055335468 8 30003181568 amd64 110"},
    {"gd-1xgh200", "72 600218240 1 7499362648 arm64 110"},
    {"cd-gp-i64-erapids", "64 526674536 0 7499230528 amd64 110"},
    {"cd-gp-l-i64-erapids", "64 526668108 0 15000547328 amd64 110"},
    {"cd-gp-i96-icelake", "96 394209340 0 6248987968 amd64 110"},
    {"cd-hp-a96-genoa", "96 791111968 0 7499230528 amd64 110"},
    {"cd-gp-a192-genoa", "192 1583811548 0 7499230528 amd64 110"},
    {"cd-gp-l-a192-genoa", "192 1583796048 0 30003181568 amd64 110"},
    {"cd-hc-a384-genoa", "384 1583673336 0 30003181568 amd64 300"},
    {"cd-hc-a384ib-genoa", "384 1583672504 0 30003181568 amd64 110"},
    {"turin-gp", "192 1583297960 0 7499230528 amd64 110"},
    {"turin-gp-l", "192 1583282436 0 30003181568 amd64 110"},
};

TEST(Catalogue, HasPublicInstanceTypesAsTheyAre) {
  const Catalogue catalogue = Read("catalogue.yaml");
  for (const auto& [type, size] : kPublicTypes)
    EXPECT_THAT(catalogue.sizes, Contains(Pair(type, size)));
}

TEST(Catalogue, SaysWhoseAZoneIsAsThePublicListDoes) {
  EXPECT_THAT(Read("catalogue.yaml").accesses,
              ::testing::ElementsAre(
                  Pair("RNO2A", "ACCESS_GENERAL"), Pair("US-CENTRAL-01A", "ACCESS_DEDICATED"),
                  Pair("US-EAST-01A", "ACCESS_GENERAL"), Pair("US-EAST-04A", "ACCESS_GENERAL"),
                  Pair("US-WEST-01A", "ACCESS_GENERAL")));
}

TEST(Catalogue, GrantsNvl72InRacksOf18) {
  EXPECT_THAT(Read("catalogue.yaml").racks,
              ::testing::ElementsAre(Pair("gb200-4x", 18), Pair("gb300-4x", 18)));
}

TEST(ExamplePool, IsTheReferencesAndCanBeServed) {
  const Catalogue catalogue = Read("catalogue.yaml");
  const Catalogue example = Read("example-nodepool.yaml");
  ASSERT_EQ(example.pools.size(), 1u);
  const lifecycle::v1::NodePool& pool = example.pools[0];
  EXPECT_EQ(pool.name(), "organizations/acme/clusters/example/nodePools/example-nodepool");
  EXPECT_EQ(pool.spec().instance_type(), "gd-8xa100-i128");
  EXPECT_EQ(pool.spec().target_nodes(), 1);
  ASSERT_TRUE(catalogue.clusters.contains("organizations/acme/clusters/example"));
  const std::string zone = catalogue.clusters.at("organizations/acme/clusters/example");
  EXPECT_THAT(catalogue.zones.at(zone), Contains("gd-8xa100-i128"));
  EXPECT_THAT(catalogue.quotas, Contains(absl::StrCat("organizations/acme/quotas/", zone,
                                                      "~gd-8xa100-i128~default")));
  EXPECT_THAT(catalogue.machines, Contains(::testing::ResultOf(
                                      [](const capacity::v1::Machine& machine) {
                                        return machine.zone() + " " + machine.instance_type();
                                      },
                                      zone + " gd-8xa100-i128")));
}

}  // namespace
}  // namespace muster::musterctl
