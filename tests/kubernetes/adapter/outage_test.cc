#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/kubernetes/adapter/trial.h"

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

Stage::Options OptionsFor(Cut cut) {
  Stage::Options options;
  // It is waited for that the adapter gives its Lease up.
  const bool ends =
      cut == Cut::kApiServerRefuses || cut == Cut::kApiServerHangs || cut == Cut::kBothRefuse;
  if (ends) options.adapter_flags = {"--lease_duration=3s", "--lease_renew_deadline=2s"};
  options.muster.own_cluster = cut == Cut::kPostgresStops;
  return options;
}

class Outage : public ::testing::TestWithParam<Cut> {
 protected:
  void SetUp() override {
    const char* assets = std::getenv("KUBEBUILDER_ASSETS");
    if (assets != nullptr && *assets != '\0' && !IsMustersAlone(GetParam()))
      GTEST_SKIP() << "a real API server does not go away on command";
    stage_ = std::make_unique<Stage>(OptionsFor(GetParam()));
    counter_ = std::make_unique<ChangeCounter>(*stage_);
  }
  void TearDown() override { counter_.reset(); }

  // In the middle of a phase: cuts, and mends.
  void CutAndMend() {
    counter_->AwaitChanges(kChanges, kPool, [](const Json&) { return false; });
    FakeApiServer* fake = stage_->server().fake_or_null();
    switch (GetParam()) {
      case Cut::kApiServerResets:
        fake->SetRefusing(true);
        return fake->SetRefusing(false);
      case Cut::kApiServerRefuses:
        fake->SetRefusing(true);
        EXPECT_EQ(AwaitAdapterEnd(*stage_), 1);
        fake->SetRefusing(false);
        return stage_->StartAdapter();
      case Cut::kApiServerHangs:
        fake->SetHanging(true);
        EXPECT_EQ(AwaitAdapterEnd(*stage_), 1);
        fake->SetHanging(false);
        return stage_->StartAdapter();
      case Cut::kMusterDies:
        stage_->muster().Kill();
        ExpectNodesStay();
        return stage_->muster().Start();
      case Cut::kPostgresStops:
        stage_->muster().cluster().Stop(PostgresCluster::StopMode::kImmediate);
        ExpectNodesStay();
        return stage_->muster().cluster().Start();
      case Cut::kBothRefuse:
        stage_->muster().Kill();
        fake->SetRefusing(true);
        EXPECT_EQ(AwaitAdapterEnd(*stage_), 1);
        fake->SetRefusing(false);
        stage_->StartAdapter();
        EXPECT_FALSE(stage_->muster().IsServing());
        return stage_->muster().Start();
    }
  }

  // Once what Muster had asked for before it went is done.
  void ExpectNodesStay() {
    EXPECT_EQ(AwaitQuiet(*stage_), "");
    const auto before = NodeUids(*stage_);
    EXPECT_TRUE(AwaitRenewals(*stage_, 4));
    EXPECT_EQ(NodeUids(*stage_), before);
    EXPECT_TRUE(stage_->AdapterRuns());
  }

  // What Muster was told of Nodes that are well, ever.
  int64_t FalseAlarms() {
    return std::stoll(stage_->muster().database().QueryValue(
        "SELECT count(*) FROM lifecycle.journal WHERE position('kubelet: '::bytea in change) > 0"));
  }

  std::unique_ptr<Stage> stage_;
  std::unique_ptr<ChangeCounter> counter_;
};

TEST_P(Outage, InTheMiddleOfALife) {
  stage_->Create(WorkingPool(kPool, kNodes));
  CutAndMend();
  ASSERT_TRUE(stage_->AwaitHealthy(kPool, kNodes)) << Describe(*stage_);

  const auto uids = NodeUids(*stage_);
  std::vector<std::string> pods;
  for (const std::string& node : NodesOf(*stage_, kPool)) {
    for (std::string& pod : FillNode(*stage_, node, absl::Seconds(1)))
      pods.push_back(std::move(pod));
  }
  stage_->PatchNodePool(kPool, {{"spec", {{"targetNodes", 1}}}});
  CutAndMend();
  ASSERT_TRUE(stage_->AwaitHealthy(kPool, 1)) << Describe(*stage_);
  EXPECT_TRUE(stage_->Await(kNodesPath, [](const auto& nodes) { return nodes.size() == 1; }));
  for (const auto& [node, uid] : NodeUids(*stage_)) EXPECT_EQ(uids.at(node), uid);
  EXPECT_EQ(AwaitQuiet(*stage_), "");

  stage_->DeleteNodePool(kPool);
  CutAndMend();
  ASSERT_TRUE(stage_->AwaitNodePool(kPool, [](const Json& pool) { return pool.is_null(); }))
      << Describe(*stage_);
  EXPECT_TRUE(stage_->Await(kNodesPath, [](const auto& nodes) { return nodes.empty(); }));
  EXPECT_EQ(counter_->AwaitDeletedNodes(kNodes), kNodes);
  EXPECT_EQ(FalseAlarms(), 0);
  EXPECT_EQ(AwaitEvents(*stage_), "");
  EXPECT_EQ(AwaitQuiet(*stage_), "");
  EXPECT_EQ(counter_->AwaitDeletedNodes(kNodes), kNodes);  // and none once more
  if (stage_->server().is_real()) return;
  for (const auto& [pod, times] : EvictionModes(*stage_, pods)) {
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
