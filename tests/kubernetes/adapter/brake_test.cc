#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/kubernetes/adapter/adapter_test_base.h"
#include "tests/testing/past.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

// One side's database was restored, so that it does not know what the other one has. One may go
// unasked.
class BrakeTest : public AdapterTest<BrakeTest> {
 public:
  static AdapterStack::Options MakeOptions() {
    AdapterStack::Options options = WithoutKubelets();
    options.adapter_flags = {"--removals_unasked=1", "--removals_unasked_percent=0"};
    options.muster.audit_books = false;
    return options;
  }

 protected:
  void AwaitHeld(const char* kind, int count) {
    const std::string line =
        absl::StrCat("muster_kubernetes_removals_held{kind=\"", kind, "\"} ", count, "\n");
    Until([&] { return absl::StrContains(stack().AdapterMetrics(), line); }, line);
  }
  int64_t CountEvents(const std::string& object, const std::string& reason) {
    int64_t count = 0;
    const auto listed = stack().client().List(kEventsPath, {}, [&](const Json& event) {
      const bool is_meant = event.value(Json::json_pointer("/regarding/name"), "") == object &&
                            event.value("reason", "") == reason;
      count += is_meant ? 1 : 0;
    });
    EXPECT_TRUE(listed.ok()) << listed.status();
    return count;
  }
  bool AwaitGone(const std::vector<std::string>& nodes) {
    for (const std::string& node : nodes) {
      if (!AdapterTestBase::AwaitGone(node)) return false;
    }
    return true;
  }
  size_t There(const std::vector<std::string>& nodes) {
    size_t there = 0;
    for (const std::string& node : nodes) there += stack().GetNode(node).is_null() ? 0 : 1;
    return there;
  }
  bool MusterHas(const std::string& pool) {
    return stack().muster().Ctl({"get", "nodepool", pool}).exit_code == 0;
  }
};

TEST_F(BrakeTest, PoolsThatARestoredEtcdDoesNotHaveStayUntilAnOrder) {
  if (stack().server().is_real()) GTEST_SKIP() << "etcd is restored on the fake server only";
  FakeApiServer& server = *stack().server().fake_or_null();
  AwaitAccepted();
  const auto past = server.Save();
  const std::vector<std::string> pools = {Name(), Name()};
  for (const std::string& pool : pools) Join(pool);
  stack().KillAdapter();
  server.Restore(past);
  stack().StartAdapter();
  AwaitHeld("node_pool", 2);
  for (const std::string& pool : pools) {
    EXPECT_FALSE(MusterPool(pool).has_delete_time());
    EXPECT_TRUE(AwaitEvent(pool, "CWRemovalsHeld"));
  }
  Ctl({"allow", "removals", "example", "--node-pools=2", "--nodes=2"});
  for (const std::string& pool : pools)
    Until([&] { return !MusterHas(pool); }, "the end of " + pool);
  AwaitHeld("node_pool", 0);
}

TEST_F(BrakeTest, NodesThatARestoredEtcdBringsBackStayUntilAnOrder) {
  if (stack().server().is_real()) GTEST_SKIP() << "etcd is restored on the fake server only";
  FakeApiServer& server = *stack().server().fake_or_null();
  const std::vector<std::string> pools = {Name(), Name(), Name()};
  std::vector<std::string> nodes;
  for (const std::string& pool : pools) nodes.push_back(Join(pool));
  const auto past = server.Save();
  for (const std::string& pool : pools) stack().DeleteNodePool(pool);
  ASSERT_TRUE(AwaitGone(nodes)) << "what Muster tells of is no absence";
  for (const std::string& pool : pools)
    ASSERT_TRUE(stack().AwaitNodePool(pool, [](const Json& object) { return object.is_null(); }));
  stack().KillAdapter();
  server.Restore(past);
  stack().StartAdapter();
  AwaitHeld("node", 3);
  EXPECT_EQ(There(nodes), 3U);
  for (const std::string& pool : pools) {
    EXPECT_TRUE(AwaitReason(pool, "RemovalsHeld", "MoreThanAFew"));
    EXPECT_THAT(
        ConditionOf(stack().GetNodePool(pool), "RemovalsHeld")["message"],
        HasSubstr("musterctl allow removals organizations/acme/clusters/example --nodes=3."));
    EXPECT_TRUE(AwaitEvent(pool, "CWRemovalsHeld"));
  }
  stack().KillAdapter();
  stack().StartAdapter();
  AwaitHeld("node", 3);
  Ctl({"allow", "removals", "example", "--nodes=3"});
  EXPECT_TRUE(AwaitGone(nodes));
  for (const std::string& pool : pools) {
    EXPECT_TRUE(stack().AwaitNodePool(
        pool, [](const Json& object) { return ConditionOf(object, "RemovalsHeld").is_null(); }));
    EXPECT_EQ(CountEvents(pool, "CWRemovalsHeld"), 1) << "the object said so already";
  }
}

TEST_F(BrakeTest, NodesThatARestoredMusterDoesNotKnowStayThoughItsHistoryIsAccepted) {
  const Past past(stack().muster().database(), "lifecycle");
  const std::vector<std::string> pools = {Name(), Name()};
  std::vector<std::string> nodes;
  for (const std::string& pool : pools) nodes.push_back(Join(pool));
  stack().KillAdapter();
  for (const std::string& pool : pools) {
    stack().PatchNodePool(pool, {{"metadata", {{"finalizers", nullptr}}}});
    stack().DeleteNodePool(pool);
  }
  stack().muster().Kill();
  const std::string incarnation = past.Restore();
  stack().muster().Start();
  stack().StartAdapter();
  for (const std::string& node : nodes) EXPECT_TRUE(AwaitEvent(node, "CWNodeUnknown"));
  const Json accepted = {
      {"metadata", {{"annotations", {{"compute.coreweave.com/history", incarnation}}}}}};
  ASSERT_TRUE(stack().client().Patch(kubernetes::PatchType::kMerge, kAdapterLease, accepted).ok());
  AwaitHeld("node", 2);
  EXPECT_EQ(There(nodes), 2U);
  Ctl({"allow", "removals", "example", "--nodes=2"});
  EXPECT_TRUE(AwaitGone(nodes));
}

TEST_F(BrakeTest, OrdinaryDeletionsAreNotHeld) {
  const std::vector<std::string> pools = {Name(), Name(), Name()};
  std::vector<std::string> nodes;
  for (const std::string& pool : pools) nodes.push_back(Join(pool));
  for (const std::string& pool : pools) stack().DeleteNodePool(pool);
  EXPECT_TRUE(AwaitGone(nodes));
  for (const std::string& pool : pools) Until([&] { return !MusterHas(pool); }, pool);
}

// They stay, though their marks are of an earlier life.
TEST_F(BrakeTest, NodesThatTheirKubeletsOfNowTookOverAreNoRemovals) {
  const std::vector<std::string> nodes = TakeOver({Name(), Name()});
  stack().StartAdapter();
  for (const std::string& node : nodes) EXPECT_TRUE(AwaitState(node, "production"));
  EXPECT_EQ(There(nodes), 2U);
  AwaitHeld("node", 0);
}

}  // namespace
}  // namespace muster::testing
