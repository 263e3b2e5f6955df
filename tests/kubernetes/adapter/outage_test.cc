#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/kubernetes/adapter/failure_scenarios.h"

namespace muster::testing {
namespace {

using Json = nlohmann::json;

constexpr char kPool[] = "example-nodepool";
constexpr int64_t kNodes = 3;
constexpr int kChanges = 6;  // of a phase, before the cut

// Who is out of reach, and how.
enum class Cut {
  kApiServerResets,   // every connection breaks, once
  kApiServerRefuses,  // until the adapter has given its lease up
  kApiServerHangs,    // likewise
  kMusterDies,
  kPostgresStops,  // Muster's
  kBothRefuse,
};

std::string NameOf(const ::testing::TestParamInfo<Cut>& info) {
  switch (info.param) {
    case Cut::kApiServerResets:
      return "ApiServerResets";
    case Cut::kApiServerRefuses:
      return "ApiServerRefuses";
    case Cut::kApiServerHangs:
      return "ApiServerHangs";
    case Cut::kMusterDies:
      return "MusterDies";
    case Cut::kPostgresStops:
      return "PostgresStops";
    case Cut::kBothRefuse:
      return "BothRefuse";
  }
  return "";
}

bool IsMustersAlone(Cut cut) { return cut == Cut::kMusterDies || cut == Cut::kPostgresStops; }

AdapterStack::Options OptionsFor(Cut cut) {
  AdapterStack::Options options;
  // It is waited for that the adapter gives its Lease up; one that is only slow, on a machine that
  // is too busy, must not.
  const bool ends =
      cut == Cut::kApiServerRefuses || cut == Cut::kApiServerHangs || cut == Cut::kBothRefuse;
  if (ends) options.adapter_flags = {"--lease_duration=16s", "--lease_renew_deadline=15s"};
  options.muster.own_cluster = cut == Cut::kPostgresStops;
  return options;
}

class Outage : public ::testing::TestWithParam<Cut> {
 protected:
  void SetUp() override {
    const char* assets = std::getenv("KUBEBUILDER_ASSETS");
    if (assets != nullptr && *assets != '\0' && !IsMustersAlone(GetParam()))
      GTEST_SKIP() << "a real API server does not go away on command";
    stack_ = std::make_unique<AdapterStack>(OptionsFor(GetParam()));
    counter_ = std::make_unique<ChangeCounter>(*stack_);
  }
  void TearDown() override { counter_.reset(); }

  // In the middle of a phase: cuts, and mends.
  void CutAndMend() {
    counter_->AwaitChanges(kChanges, kPool, [](const Json&) { return false; });
    FakeApiServer* fake = stack_->server().fake_or_null();
    switch (GetParam()) {
      case Cut::kApiServerResets:
        fake->SetRefusing(true);
        return fake->SetRefusing(false);
      case Cut::kApiServerRefuses:
        fake->SetRefusing(true);
        EXPECT_EQ(AwaitAdapterEnd(*stack_), 1);
        fake->SetRefusing(false);
        return stack_->StartAdapter();
      case Cut::kApiServerHangs:
        fake->SetHanging(true);
        EXPECT_EQ(AwaitAdapterEnd(*stack_), 1);
        fake->SetHanging(false);
        return stack_->StartAdapter();
      case Cut::kMusterDies:
        stack_->muster().Kill();
        ExpectNodesStay();
        return stack_->muster().Start();
      case Cut::kPostgresStops:
        stack_->muster().cluster().Stop(PostgresCluster::StopMode::kImmediate);
        ExpectNodesStay();
        return stack_->muster().cluster().Start();
      case Cut::kBothRefuse:
        stack_->muster().Kill();
        fake->SetRefusing(true);
        EXPECT_EQ(AwaitAdapterEnd(*stack_), 1);
        fake->SetRefusing(false);
        stack_->StartAdapter();
        EXPECT_FALSE(stack_->muster().IsServing());
        return stack_->muster().Start();
    }
  }

  // Once what Muster had asked for before it went is done.
  void ExpectNodesStay() {
    EXPECT_EQ(AwaitQuiet(*stack_), "");
    const auto before = NodeUids(*stack_);
    EXPECT_TRUE(AwaitRenewals(*stack_, 4));
    EXPECT_EQ(NodeUids(*stack_), before);
    EXPECT_TRUE(stack_->AdapterRuns());
  }

  // What Muster was told of Nodes that are well, ever.
  int64_t FalseAlarms() {
    return std::stoll(stack_->muster().database().QueryValue(
        "SELECT count(*) FROM lifecycle.journal WHERE position('kubelet: '::bytea in change) > 0"));
  }

  std::unique_ptr<AdapterStack> stack_;
  std::unique_ptr<ChangeCounter> counter_;
};

TEST_P(Outage, InTheMiddleOfALife) {
  stack_->Create(WorkingPool(kPool, kNodes));
  CutAndMend();
  ASSERT_TRUE(stack_->AwaitHealthy(kPool, kNodes)) << Describe(*stack_);

  const auto uids = NodeUids(*stack_);
  std::vector<std::string> pods;
  for (const std::string& node : NodesOf(*stack_, kPool)) {
    for (std::string& pod : FillNode(*stack_, node, absl::Seconds(1)))
      pods.push_back(std::move(pod));
  }
  stack_->PatchNodePool(kPool, {{"spec", {{"targetNodes", 1}}}});
  CutAndMend();
  ASSERT_TRUE(stack_->AwaitHealthy(kPool, 1)) << Describe(*stack_);
  EXPECT_TRUE(stack_->Await(kNodesPath, [](const auto& nodes) { return nodes.size() == 1; }));
  for (const auto& [node, uid] : NodeUids(*stack_)) EXPECT_EQ(uids.at(node), uid);
  EXPECT_EQ(AwaitQuiet(*stack_), "");

  stack_->DeleteNodePool(kPool);
  CutAndMend();
  ASSERT_TRUE(stack_->AwaitNodePool(kPool, [](const Json& pool) { return pool.is_null(); }))
      << Describe(*stack_);
  EXPECT_TRUE(stack_->Await(kNodesPath, [](const auto& nodes) { return nodes.empty(); }));
  EXPECT_EQ(counter_->AwaitDeletedNodes(kNodes), kNodes);
  EXPECT_EQ(FalseAlarms(), 0);
  EXPECT_EQ(AwaitEvents(*stack_), "");
  EXPECT_EQ(AwaitQuiet(*stack_), "");
  EXPECT_EQ(counter_->AwaitDeletedNodes(kNodes), kNodes);  // and none once more
  if (stack_->server().is_real()) return;
  for (const auto& [pod, times] : EvictionModes(*stack_, pods)) {
    EXPECT_GE(times, 1) << pod;
    // An answer may be lost in the cut.
    EXPECT_LE(times, IsMustersAlone(GetParam()) ? 1 : 2) << pod;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Outage,
                         ::testing::Values(Cut::kApiServerResets, Cut::kApiServerRefuses,
                                           Cut::kApiServerHangs, Cut::kMusterDies,
                                           Cut::kPostgresStops, Cut::kBothRefuse),
                         NameOf);

}  // namespace
}  // namespace muster::testing
