#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iostream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/kubernetes/adapter/failure_scenarios.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {
namespace {

using Json = nlohmann::json;

constexpr char kPool[] = "example-nodepool";
constexpr char kAdapter[] = "muster-kubernetes";
constexpr int64_t kNodes = 10;

// Lists and watches that the adapter began.
int64_t Begun(AdapterStack& stack, absl::string_view verb) {
  int64_t begun = 0;
  for (const RecordedRequest& request : stack.server().fake_or_null()->requests())
    begun += request.verb == verb && absl::StartsWith(request.user_agent, kAdapter) ? 1 : 0;
  return begun;
}

// Until it began so many more of them than `before`; its renewals are the clock.
bool AwaitBegun(AdapterStack& stack, absl::string_view verb, int64_t more, int64_t before) {
  for (int renewals = 0; Begun(stack, verb) < before + more; ++renewals) {
    if (renewals > 100 || !AwaitRenewals(stack, 1)) return false;
  }
  return true;
}

TEST(Quiet, NothingIsWrittenOnceAllIsLevel) {
  AdapterStack stack;
  stack.Create(WorkingPool(kPool, kNodes));
  ASSERT_TRUE(stack.AwaitHealthy(kPool, kNodes)) << Describe(stack);
  // All work of a Node is seen at once: more of it would be told later, as it changes.
  stack.KillAdapter();
  for (const std::string& node : NodesOf(stack, kPool)) FillNode(stack, node);
  stack.StartAdapter();
  ASSERT_TRUE(stack.Await(kNodesPath, [](const AdapterStack::Objects& nodes) {
    return std::all_of(nodes.begin(), nodes.end(), [](const auto& node) {
      return absl::StrContains(ConditionOf(node.second, "CWActive").value("message", ""), "-web");
    });
  })) << Describe(stack);
  EXPECT_EQ(AwaitEvents(stack), "");
  ASSERT_EQ(AwaitQuiet(stack), "");
  const auto versions = Versions(stack);

  // Again from nothing: a new process has forgotten all that it did.
  FakeApiServer* fake = stack.server().fake_or_null();
  if (fake != nullptr) fake->ClearRequests();
  stack.KillAdapter();
  stack.StartAdapter();
  EXPECT_EQ(AwaitQuiet(stack), "");
  EXPECT_EQ(stack.TerminateAdapter(), 0);
  stack.StartAdapter();
  EXPECT_EQ(AwaitQuiet(stack), "");
  EXPECT_EQ(Differences(versions, Versions(stack)), "");
  if (fake == nullptr) return;
  EXPECT_EQ(fake->WritesBy(kAdapter, "/leases"), 0);

  const int64_t watches = Begun(stack, "WATCH");
  Misbehaviour lively;
  lively.bookmark_interval = absl::Milliseconds(50);
  lively.cut_streams = absl::Milliseconds(300);
  fake->Set(lively);
  EXPECT_TRUE(AwaitBegun(stack, "WATCH", 12, watches)) << "all streams are cut, and begin again";
  fake->Set({});
  const int64_t lists = Begun(stack, "LIST");
  fake->CompactHistory();
  EXPECT_TRUE(AwaitBegun(stack, "LIST", 4, lists)) << "all is listed again";
  EXPECT_EQ(AwaitQuiet(stack), "");
  EXPECT_EQ(fake->WritesBy(kAdapter, "/leases"), 0);
  EXPECT_EQ(Differences(versions, Versions(stack)), "");
}

// The right to write it may be away for hours, and both sides go on changing.
TEST(Quiet, AStatusThatCannotBeWrittenIsTriedLessAndLessOften) {
  AdapterStack stack;
  FakeApiServer* fake = stack.server().fake_or_null();
  if (fake == nullptr) GTEST_SKIP() << "a real API server does not refuse on command";
  stack.Create(WorkingPool(kPool, 1));
  ASSERT_TRUE(stack.AwaitHealthy(kPool, 1)) << Describe(stack);

  const std::string path = absl::StrCat(kNodePoolsPath, "/", kPool);
  fake->FailNext({.verb = "PATCH", .path_prefix = path + "/status", .code = 403, .count = 10'000});
  fake->ClearRequests();
  constexpr int kChanges = 100;
  for (int i = 0; i < kChanges; ++i) {
    stack.PatchNodePool(kPool, {{"metadata", {{"annotations", {{"turn", absl::StrCat(i)}}}}},
                                {"spec", {{"targetNodes", i == 0 ? 2 : 3}}}});
    ASSERT_TRUE(AwaitRenewals(stack, 1));
  }
  int64_t tries = 0;
  for (const RecordedRequest& request : fake->requests())
    tries += request.verb == "PATCH" && request.path == path + "/status" ? 1 : 0;
  EXPECT_GE(tries, 1);
  // Their pauses double up to half a minute: in five minutes they are not so many.
  EXPECT_LE(tries, 30);
  // All else goes on.
  EXPECT_TRUE(stack.Await(kNodesPath, [](const auto& nodes) { return nodes.size() == 3; }))
      << Describe(stack);
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
  AdapterStack::Options options;
  options.muster.fleetsim_flags.push_back(
      absl::StrCat("--register_machines=RNO2A:gd-8xa100-i128:", kManyNodes));
  options.adapter_flags = {"--events_per_minute=60000"};
  AdapterStack stack(options);
  if (stack.server().is_real()) GTEST_SKIP() << "a real API server does not tell who wrote";
  const TempFolder folder;
  const std::string quota = folder.Path("quota.yaml");
  std::ofstream(quota) << "apiVersion: muster/v1\nkind: Quota\nmetadata:\n  organization: acme\n"
                          "spec:\n  zone: RNO2A\n  instanceType: gd-8xa100-i128\n"
                          "  computeClass: default\n  limit: 600\n";
  const Finished applied = stack.muster().Ctl({"apply", "-f", quota});
  ASSERT_EQ(applied.exit_code, 0) << applied.output;

  stack.Create(WorkingPool(kPool, kManyNodes));
  ASSERT_TRUE(stack.AwaitHealthy(kPool, kManyNodes, absl::Minutes(5))) << Describe(stack);
  int64_t statuses = 0;
  int64_t nodes = 0;
  for (const RecordedRequest& request : stack.server().fake_or_null()->requests()) {
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
