#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iostream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/kubernetes/adapter/trial.h"

namespace muster::testing {
namespace {

using Json = nlohmann::json;

constexpr char kPool[] = "example-nodepool";
constexpr char kAdapter[] = "muster-kubernetes";
constexpr int64_t kNodes = 10;

// Lists and watches that the adapter began.
int64_t Begun(Stage& stage, absl::string_view verb) {
  int64_t begun = 0;
  for (const RecordedRequest& request : stage.server().fake_or_null()->requests())
    begun += request.verb == verb && absl::StartsWith(request.user_agent, kAdapter) ? 1 : 0;
  return begun;
}

// Until it began so many more of them than `before`; its renewals are the clock.
bool AwaitBegun(Stage& stage, absl::string_view verb, int64_t more, int64_t before) {
  for (int renewals = 0; Begun(stage, verb) < before + more; ++renewals) {
    if (renewals > 100 || !AwaitRenewals(stage, 1)) return false;
  }
  return true;
}

TEST(Quiet, NothingIsWrittenOnceAllIsLevel) {
  Stage stage;
  stage.Create(WorkingPool(kPool, kNodes));
  ASSERT_TRUE(stage.AwaitHealthy(kPool, kNodes)) << Describe(stage);
  // All work of a Node is seen at once: more of it would be told later, as it changes.
  stage.KillAdapter();
  for (const std::string& node : NodesOf(stage, kPool)) FillNode(stage, node);
  stage.StartAdapter();
  ASSERT_TRUE(stage.Await(kNodesPath, [](const Stage::Objects& nodes) {
    return std::all_of(nodes.begin(), nodes.end(), [](const auto& node) {
      return absl::StrContains(ConditionOf(node.second, "CWActive").value("message", ""), "-web");
    });
  })) << Describe(stage);
  EXPECT_EQ(AwaitEvents(stage), "");
  ASSERT_EQ(AwaitQuiet(stage), "");
  const auto versions = Versions(stage);

  // Again from nothing: a new process has forgotten all that it did.
  FakeApiServer* fake = stage.server().fake_or_null();
  if (fake != nullptr) fake->ClearRequests();
  stage.KillAdapter();
  stage.StartAdapter();
  EXPECT_EQ(AwaitQuiet(stage), "");
  EXPECT_EQ(stage.TerminateAdapter(), 0);
  stage.StartAdapter();
  EXPECT_EQ(AwaitQuiet(stage), "");
  EXPECT_EQ(Differences(versions, Versions(stage)), "");
  if (fake == nullptr) return;
  EXPECT_EQ(fake->WritesBy(kAdapter, "/leases"), 0);

  const int64_t watches = Begun(stage, "WATCH");
  Misbehaviour lively;
  lively.bookmark_interval = absl::Milliseconds(50);
  lively.cut_streams = absl::Milliseconds(300);
  fake->Set(lively);
  EXPECT_TRUE(AwaitBegun(stage, "WATCH", 12, watches)) << "all streams are cut, and begin again";
  fake->Set({});
  const int64_t lists = Begun(stage, "LIST");
  fake->CompactHistory();
  EXPECT_TRUE(AwaitBegun(stage, "LIST", 4, lists)) << "all is listed again";
  EXPECT_EQ(AwaitQuiet(stage), "");
  EXPECT_EQ(fake->WritesBy(kAdapter, "/leases"), 0);
  EXPECT_EQ(Differences(versions, Versions(stage)), "");
}

// The right to write it may be away for hours, and both sides go on changing.
TEST(Quiet, AStatusThatCannotBeWrittenIsTriedLessAndLessOften) {
  Stage stage;
  FakeApiServer* fake = stage.server().fake_or_null();
  if (fake == nullptr) GTEST_SKIP() << "a real API server does not refuse on command";
  stage.Create(WorkingPool(kPool, 1));
  ASSERT_TRUE(stage.AwaitHealthy(kPool, 1)) << Describe(stage);

  const std::string path = absl::StrCat(kNodePoolsPath, "/", kPool);
  fake->FailNext({.verb = "PATCH", .path_prefix = path + "/status", .code = 403, .count = 10'000});
  fake->ClearRequests();
  constexpr int kChanges = 100;
  for (int i = 0; i < kChanges; ++i) {
    stage.PatchNodePool(kPool, {{"metadata", {{"annotations", {{"turn", absl::StrCat(i)}}}}},
                                {"spec", {{"targetNodes", i == 0 ? 2 : 3}}}});
    ASSERT_TRUE(AwaitRenewals(stage, 1));
  }
  int64_t tries = 0;
  for (const RecordedRequest& request : fake->requests())
    tries += request.verb == "PATCH" && request.path == path + "/status" ? 1 : 0;
  EXPECT_GE(tries, 1);
  // Their pauses double up to half a minute: in five minutes they are not so many.
  EXPECT_LE(tries, 30);
  // All else goes on.
  EXPECT_TRUE(stage.Await(kNodesPath, [](const auto& nodes) { return nodes.size() == 3; }))
      << Describe(stage);
}

constexpr int64_t kManyNodes = 500;
// The adapter leaves 200 ms between two writes of a status: they grow with the time that it takes,
// and not with the Nodes. (14 were seen; a machine that takes 50 s is let
// pass.)
constexpr int64_t kMostStatusWrites = kManyNodes / 2;
// Labels and annotations, taints and conditions, once each as a Node arrives and once as it goes
// into production.
constexpr int64_t kMostWritesANode = 6;

TEST(Quiet, AScaleUpOfManyNodesWritesFewStatuses) {
  Stage::Options options;
  options.muster.fleetsim_flags.push_back(
      absl::StrCat("--register_machines=RNO2A:gd-8xa100-i128:", kManyNodes));
  options.adapter_flags = {"--events_per_minute=60000"};
  Stage stage(options);
  if (stage.server().is_real()) GTEST_SKIP() << "a real API server does not tell who wrote";
  const std::string quota = ::testing::TempDir() + "quota.yaml";
  std::ofstream(quota) << "apiVersion: muster/v1\nkind: Quota\nmetadata:\n  organization: acme\n"
                          "spec:\n  zone: RNO2A\n  instanceType: gd-8xa100-i128\n"
                          "  computeClass: default\n  limit: 600\n";
  const Finished applied = stage.muster().Ctl({"apply", "-f", quota});
  ASSERT_EQ(applied.exit_code, 0) << applied.output;

  stage.Create(WorkingPool(kPool, kManyNodes));
  ASSERT_TRUE(stage.AwaitHealthy(kPool, kManyNodes, absl::Seconds(120))) << Describe(stage);
  int64_t statuses = 0;
  int64_t nodes = 0;
  for (const RecordedRequest& request : stage.server().fake_or_null()->requests()) {
    if (!absl::StartsWith(request.user_agent, kAdapter) || request.verb != "PATCH") continue;
    statuses += absl::StartsWith(request.path, kNodePoolsPath) ? 1 : 0;
    nodes += absl::StartsWith(request.path, kNodesPath) ? 1 : 0;
  }
  std::cout << kManyNodes << " Nodes: " << statuses << " writes of the NodePool, "
            << static_cast<double>(nodes) / static_cast<double>(kManyNodes)
            << " writes of each Node\n";
  EXPECT_LE(statuses, kMostStatusWrites);
  EXPECT_LE(nodes, kMostWritesANode * kManyNodes);
}

}  // namespace
}  // namespace muster::testing
