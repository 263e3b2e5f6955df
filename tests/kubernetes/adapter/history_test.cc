#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/kubernetes/adapter/adapter_test_base.h"
#include "tests/testing/past.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kLease[] = "muster-kubernetes";
constexpr char kHistory[] = "compute.coreweave.com/history";

// Lifecycle's database alone is restored to a past, under a cluster that is younger.
class HistoryTest : public AdapterTest<HistoryTest> {
 public:
  static AdapterStack::Options MakeOptions() {
    AdapterStack::Options options = WithoutKubelets();
    // What the lost future held in the other services belongs to nobody for a while.
    options.muster.audit_books = false;
    return options;
  }

 protected:
  Past Remember() { return Past(stack().muster().database(), "lifecycle"); }
  // The name of the new history.
  std::string Restore(const Past& past) {
    stack().muster().Kill();
    const std::string incarnation = past.Restore();
    stack().muster().Start();
    return incarnation;
  }
  // As an operator does.
  void Accept(const std::string& incarnation) {
    const auto written =
        stack().client().Patch(kubernetes::PatchType::kMerge, kAdapterLease,
                               {{"metadata", {{"annotations", {{kHistory, incarnation}}}}}});
    ASSERT_TRUE(written.ok()) << written.status();
  }
  bool AwaitAccepted(const std::string& incarnation) {
    return stack().Await(kAdapterLeasesPath, [&](const AdapterStack::Objects& leases) {
      const auto lease = leases.find(absl::StrCat("muster-system/", kLease));
      return lease != leases.end() && AnnotationOf(lease->second, kHistory) == incarnation;
    });
  }
  std::string RenewTime() {
    const auto lease = stack().client().Get(kAdapterLease);
    return lease.ok() ? (*lease)["spec"].value("renewTime", "") : "";
  }
  // Its finalizer is taken off by force while nobody looks.
  void RemoveByForce(const std::string& pool) {
    stack().KillAdapter();
    stack().PatchNodePool(pool, {{"metadata", {{"finalizers", nullptr}}}});
    stack().DeleteNodePool(pool);
  }
  std::string UidOf(const std::string& node) {
    const Json object = stack().GetNode(node);
    return object.is_null() ? "gone" : object["metadata"]["uid"].get<std::string>();
  }
};

TEST_F(HistoryTest, NodesThatThePastDoesNotKnowStayUntilAPersonAcceptsIt) {
  const Past past = Remember();
  const std::string young = Name();
  const std::string node = Join(young);
  const std::string uid = UidOf(node);
  RemoveByForce(young);
  const std::string incarnation = Restore(past);
  stack().StartAdapter();
  EXPECT_TRUE(AwaitEvent(node, "CWNodeUnknown"));
  EXPECT_EQ(UidOf(node), uid);

  // By another process, which saw nothing of the history before it; it works as ever.
  stack().KillAdapter();
  stack().StartAdapter();
  const std::string late = Name();
  const std::string known = Join(late);
  EXPECT_EQ(UidOf(node), uid);
  EXPECT_THAT(stack().AdapterMetrics(), HasSubstr("muster_kubernetes_unknown{kind=\"node\"} 1\n"));
  stack().DeleteNodePool(late);
  EXPECT_TRUE(AwaitGone(known)) << "both sides knew it in this history";
  EXPECT_EQ(UidOf(node), uid);

  Accept(incarnation);
  EXPECT_TRUE(AwaitGone(node));
}

// Its Nodes and their work run on, whatever the past knows of them.
TEST_F(HistoryTest, APoolThatIsDeletedAndThatThePastDoesNotKnowStaysUntilAPersonAcceptsIt) {
  const Past past = Remember();
  const std::string young = Name();
  const std::string node = Join(young);
  const std::string uid = UidOf(node);
  stack().KillAdapter();
  stack().DeleteNodePool(young);
  const std::string incarnation = Restore(past);
  stack().StartAdapter();
  EXPECT_TRUE(AwaitEvent(node, "CWNodeUnknown"));
  Until(
      [&] {
        return !absl::StrContains(
            stack().AdapterMetrics(),
            "muster_kubernetes_removals_withheld_total{kind=\"node_pool\"} 0\n");
      },
      "the NodePool to be kept");
  const Json object = stack().GetNodePool(young);
  ASSERT_FALSE(object.is_null());
  EXPECT_TRUE(AwaitReason(young, "NodesRemoved", "InternalError")) << "it says why it stays";
  EXPECT_EQ(UidOf(node), uid);
  Accept(incarnation);
  EXPECT_TRUE(stack().AwaitNodePool(young, [](const Json& pool) { return pool.is_null(); }));
}

TEST_F(HistoryTest, WhatThePastGivesToThePoolAnewGoesOn) {
  const Past past = Remember();
  const std::string pool = Name();
  const std::string node = Join(pool);
  ASSERT_TRUE(stack().AwaitHealthy(pool, 1));
  const std::string uid = UidOf(node);
  const std::string incarnation = Restore(past);
  EXPECT_TRUE(AwaitAccepted(incarnation)) << "all is known again: nobody need be asked";
  EXPECT_TRUE(stack().AwaitHealthy(pool, 1));
  EXPECT_EQ(UidOf(node), uid);
}

// Another process is to find what was accepted, or it keeps what may go.
TEST_F(HistoryTest, WhatIsAcceptedOutlivesTheLease) {
  const std::string incarnation = Restore(Remember());
  ASSERT_TRUE(AwaitAccepted(incarnation));
  const std::string renew_time = RenewTime();
  Until([&] { return RenewTime() != renew_time; }, "another look at the Lease");
  ASSERT_TRUE(stack().client().Delete(kAdapterLease).ok());
  EXPECT_TRUE(AwaitAccepted(incarnation));
}

TEST_F(HistoryTest, ASpecThatThePastHasOtherwiseIsSaidAgain) {
  const std::string pool = Name();
  const std::string node = Join(pool);
  ASSERT_TRUE(stack().AwaitHealthy(pool, 1));
  const Past past = Remember();
  PatchSpec(pool, {{"nodeLabels", {{"example.com/team", "a"}}}});
  ASSERT_TRUE(stack().AwaitHealthy(pool, 1));
  EXPECT_EQ(MusterPool(pool).spec().node_labels_size(), 1);
  const std::string incarnation = Restore(past);
  EXPECT_TRUE(AwaitAccepted(incarnation));
  Until([&] { return MusterPool(pool).spec().node_labels_size() == 1; }, "the object's spec");
  EXPECT_TRUE(stack().AwaitHealthy(pool, 1)) << "for the object's generation";
}

TEST_F(HistoryTest, APoolThatThePastBringsBackStaysUntilAPersonAcceptsIt) {
  const std::string name = Name();
  const std::string node = Join(name);
  const Past past = Remember();
  stack().DeleteNodePool(name);
  ASSERT_TRUE(stack().AwaitNodePool(name, [](const Json& pool) { return pool.is_null(); }));
  const std::string incarnation = Restore(past);
  const lifecycle::v1::NodePool former = MusterPool(name);

  const Json object = CreatePool(name);
  ASSERT_NE(object["metadata"]["uid"], former.uid());
  ASSERT_TRUE(AwaitReason(name, "Validated", "Invalid"));
  EXPECT_THAT(ConditionOf(stack().GetNodePool(name), "Validated")["message"],
              HasSubstr("once Muster's history is accepted"));
  EXPECT_EQ(MusterPool(name).uid(), former.uid());
  EXPECT_FALSE(MusterPool(name).has_delete_time());

  Accept(incarnation);
  EXPECT_TRUE(stack().AwaitNodePool(name, [&](const Json& pool) {
    return pool["status"].value("inProgress", 0) == 1;
  })) << stack().GetNodePool(name).dump(2);
  EXPECT_EQ(MusterPool(name).uid(), object["metadata"]["uid"]);
}

TEST_F(HistoryTest, OneThatWaitsForTheFormerOfItsNameSaysSo) {
  const std::string name = Name();
  const std::string node = Join(name);
  const Past past = Remember();
  stack().DeleteNodePool(name);
  ASSERT_TRUE(stack().AwaitNodePool(name, [](const Json& pool) { return pool.is_null(); }));
  CreatePod("holds", node);
  const std::string incarnation = Restore(past);
  CreatePool(name);
  const auto says = [&](const char* status, const char* message) {
    return stack().AwaitNodePool(name, [&](const Json& pool) {
      const Json validated = ConditionOf(pool, "Validated");
      return !validated.is_null() && validated["status"] == status &&
             absl::StrContains(validated["message"].get<std::string>(), message);
    });
  };
  EXPECT_TRUE(says("False", "once Muster's history is accepted"));
  Accept(incarnation);
  EXPECT_TRUE(says("Unknown", "whose Nodes are being removed"))
      << stack().GetNodePool(name).dump(2);
  EXPECT_TRUE(MusterPool(name).has_delete_time());
  EndPod("holds");
  EXPECT_TRUE(says("True", "valid")) << stack().GetNodePool(name).dump(2);
}

}  // namespace
}  // namespace muster::testing
