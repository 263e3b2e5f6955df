// Two cells, each of a server and a database of its own, through one musterctl.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/patience.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// What `west` has beside its zone; the rest is known to `east` by the sample catalogue.
constexpr char kWest[] = R"(
apiVersion: muster/v1
kind: InstanceType
metadata: {name: gd-8xa100-i128}
spec: {gpus: 8, gpuModel: A100, vcpus: 128, memoryKib: 2112249840, ephemeralStorageKib: 7499362648,
  architecture: amd64, maxPods: 110}
---
apiVersion: muster/v1
kind: MachineSet
metadata: {name: west}
spec: {zone: WEST-01A, instanceType: gd-8xa100-i128, count: 4}
---
apiVersion: muster/v1
kind: Quota
metadata: {organization: acme}
spec: {zone: WEST-01A, instanceType: gd-8xa100-i128, computeClass: default, limit: 4}
---
apiVersion: muster/v1
kind: Release
metadata: {}
spec: {channel: stable, component: gpu-driver, version: "570.124.06"}
---
apiVersion: muster/v1
kind: Release
metadata: {}
spec: {channel: stable, component: ncore-image, version: "2.10.1"}
---
apiVersion: muster/v1
kind: Release
metadata: {}
spec: {channel: stable, component: kubernetes, version: "1.33"}
---
apiVersion: muster/v1
kind: Cluster
metadata: {organization: acme, name: west}
spec: {zone: WEST-01A, kubernetesVersion: "1.33"}
)";
constexpr char kZone[] =
    "apiVersion: muster/v1\nkind: Zone\nmetadata: {name: WEST-01A}\n"
    "spec: {access: general, instanceTypes: [gd-8xa100-i128]}\n";
constexpr char kPool[] =
    "apiVersion: compute.coreweave.com/v1alpha1\nkind: NodePool\nmetadata: {name: train}\n"
    "spec: {instanceType: gd-8xa100-i128, targetNodes: 1}\n";
constexpr char kWestPool[] = "nodepool/organizations/acme/clusters/west/nodePools/train";

class CellsTest : public ::testing::Test {
 protected:
  CellsTest() {
    std::ofstream(folder_.Path("config.yaml"))
        << "contexts:\n- {name: east, server: '" << east_.address()
        << "'}\n- {name: west, server: '" << west_.address() << "'}\n";
    east_.ApplyCatalogue();
    // Which cell a new zone is of has to be said; where what is in it goes, not.
    Done(Apply(kZone, {"--context=west"}), "zone/WEST-01A created\n");
    Done(Apply(kWest), "cluster/west created (in west)\n");
  }

  Finished Ctl(std::vector<std::string> words) const {
    words.insert(words.begin(),
                 {"/usr/bin/env", absl::StrCat("MUSTER_CONFIG=", folder_.Path("config.yaml")),
                  "MUSTER_CONTEXT=east,west", Binary("musterctl"), "--timeout=20s"});
    return RunProgram(words);
  }
  Finished Apply(absl::string_view manifest, std::vector<std::string> flags = {}) const {
    const std::string file = folder_.Path("manifest.yaml");
    std::ofstream(file) << manifest;
    flags.insert(flags.begin(), {"apply", "-f", file});
    return Ctl(flags);
  }
  void Done(const Finished& finished, const std::string& says) const {
    EXPECT_EQ(finished.exit_code, 0) << finished.output;
    EXPECT_THAT(finished.output, HasSubstr(says));
  }
  void ApplyPools() const {
    Done(Apply(kPool, {"--cluster=example"}), "nodepool/train created (in east)\n");
    Done(Apply(kPool, {"--cluster=west"}), "nodepool/train created (in west)\n");
    for (const char* cluster : {"example", "west"}) {
      Done(Ctl({"wait", "nodepool/train", "--cluster", cluster, "--timeout=90s"}),
           "nodepool/train");
    }
  }

  TempFolder folder_;
  MiniMuster east_;
  MiniMuster west_;
};

TEST_F(CellsTest, AreReadAsOneAndEachIsChangedWhereItIs) {
  ApplyPools();
  const Finished pools = Ctl({"get", "nodepools", "-A"});
  EXPECT_EQ(pools.exit_code, 0) << pools.output;
  EXPECT_THAT(pools.output, AllOf(ContainsRegex("CELL +ORGANIZATION +CLUSTER +NAME"),
                                  ContainsRegex("east +acme +example +train +gd-8xa100-i128 +1 "),
                                  ContainsRegex("west +acme +west +train +gd-8xa100-i128 +1 ")));
  EXPECT_THAT(Ctl({"get", "nodes", "-A", "-o", "jsonpath={.items[*].metadata.cell}"}).output,
              ::testing::StrEq("east west"));
  EXPECT_THAT(Ctl({"events", "-A", "--for", kWestPool}).output,
              AllOf(HasSubstr("west"), HasSubstr("CWNodePoolCreated"), Not(HasSubstr("east"))));
  EXPECT_THAT(Ctl({"describe", "nodepool/train", "--cluster=west"}).output,
              ContainsRegex("Cell: +west\n"));
  // What -o name prints other commands take.
  const Finished names = Ctl({"get", "nodepools", "-A", "-o", "name"});
  EXPECT_EQ(names.output, absl::StrCat("nodepool/", "organizations/acme/clusters/example",
                                       "/nodePools/train\n", kWestPool, "\n"));
  Done(Ctl({"scale", kWestPool, "--replicas=2"}), "scaled to 2");
  Done(Ctl({"get", kWestPool, "-o", "jsonpath={.spec.targetNodes}", "--context=west"}), "2");
  Done(Ctl({"get", "nodepool/train", "--cluster=example", "-o", "jsonpath={.spec.targetNodes}",
            "--context=east"}),
       "1");
  Done(Ctl({"delete", kWestPool, "--timeout=90s"}), "deleted");
}

TEST_F(CellsTest, OneThatIsDownHidesNothingOfTheOther) {
  ApplyPools();
  west_.Kill();
  const Finished pools = Ctl({"get", "nodepools", "-A"});
  EXPECT_EQ(pools.exit_code, 1);
  EXPECT_THAT(pools.output, AllOf(ContainsRegex("east +acme +example +train "),
                                  HasSubstr("error: cell west: "), HasSubstr("(UNAVAILABLE)")));
  const Finished scaled =
      Ctl({"scale", "nodepool/train", "--cluster=example", "--replicas=2", "--dry-run"});
  EXPECT_EQ(scaled.exit_code, 1);
  EXPECT_THAT(scaled.output, HasSubstr("--context=east says that this one is meant"));
  Done(Ctl({"scale", "nodepool/train", "--cluster=example", "--replicas=2", "--context=east"}),
       "scaled to 2");
  west_.Start();
}

TEST_F(CellsTest, AreAskedAsOneWhereNodesAreToBeHadAndWhatWas) {
  ApplyPools();
  EXPECT_THAT(Ctl({"find", "placements", "gd-8xa100-i128=2"}).output,
              AllOf(ContainsRegex("CELL +ZONE "), ContainsRegex("east +RNO2A "),
                    ContainsRegex("west +WEST-01A +gd-8xa100-i128 +2 +default +3 "),
                    HasSubstr("Recommended zone: RNO2A (in east)\n")));
  Done(Ctl({"scale", kWestPool, "--replicas=2"}), "scaled to 2");
  EXPECT_THAT(Ctl({"history", kWestPool}).output,
              AllOf(ContainsRegex("with ResizeNodePool.* \\(revision [0-9]+ of west\\)\n"),
                    HasSubstr("spec.target_nodes: 1 -> 2"), Not(HasSubstr(" of east)"))));
  Done(Ctl({"get", "nodepools", "-A", "--at=1ms", "-o", "jsonpath={.items[*].metadata.cell}"}),
       "east west");
  const Finished refused = Ctl({"get", kWestPool, "--at=1"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.output, HasSubstr("say by --context which of east, west"));
  const Finished top = Ctl({"top", "--once"});
  EXPECT_EQ(top.exit_code, 0) << top.output;
  EXPECT_THAT(top.output, AllOf(HasSubstr("musterctl top  cells east, west  "),
                                ContainsRegex("watches live: east [0-9]+[sm], west [0-9]+[sm]\n"),
                                ContainsRegex("\n  RNO2A .* of 24 free "),
                                ContainsRegex("\n  WEST-01A .* of 4 free ")));
}

TEST_F(CellsTest, AreFollowedAsOneAndEachComesBackByItself) {
  ApplyPools();
  const std::string file = folder_.Path("watch.log");
  const Child watch({"/usr/bin/env", absl::StrCat("MUSTER_CONFIG=", folder_.Path("config.yaml")),
                     "MUSTER_CONTEXT=east,west", Binary("musterctl"), "get", "nodepools", "-A",
                     "-w", "-o", "custom-columns=CELL:.metadata.cell,N:.spec.targetNodes"},
                    file);
  const auto await = [&](const std::string& line) {
    Until([&] { return absl::StrContains(ReadFile(file), line); }, line);
  };
  await("east   1\n");
  await("west   1\n");
  west_.Kill();
  await("note: the watch of cell west broke off (");
  Done(Ctl({"scale", "nodepool/train", "--cluster=example", "--replicas=2", "--context=east"}),
       "scaled to 2");
  await("east   2\n");
  west_.Start();
  Done(Ctl({"scale", kWestPool, "--replicas=2", "--context=west"}), "scaled to 2");
  await("west   2\n");
}

TEST_F(CellsTest, AReleaseGoesToBothAndToOneThatWasDownWhenItIsSaidAgain) {
  const std::vector<std::string> publish = {"publish", "release", "stable~gpu-driver~599.1"};
  west_.Kill();
  const Finished half = Ctl(publish);
  EXPECT_EQ(half.exit_code, 1);
  EXPECT_THAT(half.output, AllOf(HasSubstr("release/stable~gpu-driver~599.1 published in east\n"),
                                 HasSubstr("error: cell west: ")));
  west_.Start();
  Done(Ctl(publish), "release/stable~gpu-driver~599.1 published in east, west\n");
  for (const char* context : {"--context=east", "--context=west"})
    Done(Ctl({"get", "release/stable~gpu-driver~599.1", "-o", "name", context}),
         "release/stable~gpu-driver~599.1\n");
}

TEST_F(CellsTest, ACellGetsReleasesAndTypesFromAnother) {
  const Finished all = Ctl({"get", "releases,instancetypes", "-o", "yaml", "--context=east"});
  Done(Apply(all.output, {"--context=west"}), "instancetype/b200-8x created\n");
  Done(Ctl({"get", "releases", "-o", "name", "--context=west"}),
       "release/latest~gpu-driver~575.51.03\n");
}

TEST_F(CellsTest, AClusterMovesByBeingDeletedAndMadeAnew) {
  constexpr char kMoved[] =
      "apiVersion: muster/v1\nkind: Cluster\nmetadata: {organization: acme, name: example-east}\n"
      "spec: {zone: WEST-01A, kubernetesVersion: \"1.33\"}\n";
  const Finished refused = Apply(kMoved);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.output, HasSubstr("it is in cell east, and zone WEST-01A in cell west"));
  Done(Ctl({"delete", "cluster/example-east"}), "cluster/example-east deleted\n");
  Done(Apply(kMoved), "cluster/example-east created (in west)\n");
  EXPECT_THAT(Ctl({"get", "clusters", "--sort-by=.metadata.name", "-o",
                   "custom-columns=CELL:.metadata.cell,NAME:.metadata.name", "--no-headers"})
                  .output,
              ContainsRegex("east +example\nwest +example-east\nwest +west\n"));
}

}  // namespace
}  // namespace muster::testing
