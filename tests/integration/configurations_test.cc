// How a configuration reaches the running Nodes of a pool, over the API of a whole Muster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/integration/example_pool_test_base.h"
#include "tests/testing/patience.h"
#include "tests/testing/status_matchers.h"

namespace muster::testing {
namespace {

namespace cv1 = configuration::v1;
namespace lv1 = lifecycle::v1;

class ConfigurationsTest : public ExamplePoolTest {};

TEST_F(ConfigurationsTest, ANewDriverIsPromotedAndBootedByRollingReboots) {
  ASSERT_THAT(muster_.Resize(3), IsOk());
  ASSERT_TRUE(muster_.AwaitSettled(3)) << muster_.LogEnds();
  const std::string old_profile = Pool().status().node_profile();
  cv1::PublishReleaseRequest publish;
  publish.mutable_release()->set_name("channels/stable/components/gpu-driver/releases/999.1");
  ASSERT_THAT(Call(*configuration_, &Configuration::PublishRelease, publish), IsOk());
  ASSERT_TRUE(muster_.Await([](const auto* pool) {
    return pool->status().has_pending_node_configuration();
  })) << muster_.LogEnds();
  cv1::PromoteConfigurationRequest promote;
  promote.set_name(absl::StrCat("poolConfigurations/", Pool().uid()));
  ASSERT_THAT(Call(*configuration_, &Configuration::PromoteConfiguration, promote), IsOk());
  ASSERT_TRUE(AwaitReason("NodeReconfigurationRequired", "StagedNodeConfig")) << muster_.LogEnds();
  EXPECT_NE(Pool().status().node_profile(), old_profile);

  lv1::ReconfigureNodePoolRequest reboot;
  reboot.set_name(MiniMuster::kPool);
  ASSERT_THAT(Call(*life_, &Life::ReconfigureNodePool, reboot), IsOk());
  ASSERT_TRUE(muster_.Await([](const auto* pool) {
    return pool->reconfiguration().state() == lv1::Reconfiguration::STATE_DONE;
  })) << muster_.LogEnds();
  EXPECT_EQ(Pool().reconfiguration().rebooted_nodes(), 3);
  ASSERT_TRUE(muster_.AwaitSettled(3)) << muster_.LogEnds();
  for (const lv1::Node& node : Nodes()) {
    EXPECT_EQ(node.observed().node_profile(), Pool().status().node_profile());
  }
  std::set<std::string> told;
  for (const lv1::Event& event : muster_.Events()) told.insert(event.reason());
  for (const char* reason :
       {"CWPendingNodeConfig", "CWManualUpgradeTrigger", "CWNodeConfigStaged",
        "CWNodePoolNodeConfigUpdated", "CWConfigStaged", "CWReconfigureRebooted"}) {
    EXPECT_TRUE(told.contains(reason)) << reason;
  }

  cv1::RollbackConfigurationRequest back;
  back.set_name(promote.name());
  ASSERT_THAT(Call(*configuration_, &Configuration::RollbackConfiguration, back), IsOk());
  EXPECT_TRUE(muster_.Await([&](const auto* pool) {
    return pool->status().node_profile() == old_profile;
  })) << muster_.LogEnds();
}

// What a configuration lacks is told by its watch, and so is that it lacks it no more.
TEST_F(ConfigurationsTest, AWithdrawnDriverIsToldAndHeals) {
  cv1::ListReleasesRequest list;
  list.set_page_size(1000);
  const auto releases = Call(*configuration_, &Configuration::ListReleases, list);
  ASSERT_THAT(releases, IsOk());
  std::vector<std::string> drivers;
  for (const cv1::Release& release : releases->releases()) {
    if (absl::StrContains(release.name(), "channels/stable/components/gpu-driver/"))
      drivers.push_back(release.name());
  }
  ASSERT_FALSE(drivers.empty());
  for (const std::string& driver : drivers) {
    cv1::WithdrawReleaseRequest withdraw;
    withdraw.set_name(driver);
    ASSERT_THAT(Call(*configuration_, &Configuration::WithdrawRelease, withdraw), IsOk());
  }
  ASSERT_TRUE(AwaitReason("NodeReconfigurationRequired", "InternalError")) << muster_.LogEnds();
  EXPECT_THAT(Reasons(), ::testing::Contains(::testing::StartsWith("CONFIGURATION_PROBLEM/")));
  for (const std::string& driver : drivers) {
    cv1::PublishReleaseRequest publish;
    publish.mutable_release()->set_name(driver);
    ASSERT_THAT(Call(*configuration_, &Configuration::PublishRelease, publish), IsOk());
  }
  EXPECT_TRUE(AwaitReason("NodeReconfigurationRequired", "AllNodesUpToDate")) << muster_.LogEnds();
  // The pass that follows may have something left to do.
  Until([&] { return Reasons().empty(); }, "the pool to have nothing left to do");
}

// Semantics 11: what resolves to nothing "heals by itself when a release comes".
TEST_F(ConfigurationsTest, ADriverThatNobodyReleasedMakesThePoolInvalidUntilSomebodyDoes) {
  const auto set_driver = [&](const std::string& version) {
    lv1::ApplyNodePoolRequest apply;
    *apply.mutable_node_pool() = Pool();
    apply.mutable_node_pool()->clear_etag();
    apply.mutable_node_pool()->mutable_spec()->mutable_gpu()->set_version(version);
    ASSERT_THAT(Call(*life_, &Life::ApplyNodePool, apply), IsOk());
  };
  set_driver("998");
  ASSERT_TRUE(AwaitReason("Validated", "Invalid")) << muster_.LogEnds();
  EXPECT_THAT(Reasons(), ::testing::ElementsAre("INVALID_SPEC/ACTOR_USER"));
  cv1::PublishReleaseRequest publish;
  publish.mutable_release()->set_name("channels/stable/components/gpu-driver/releases/998.1");
  ASSERT_THAT(Call(*configuration_, &Configuration::PublishRelease, publish), IsOk());
  EXPECT_TRUE(AwaitReason("Validated", "Valid")) << muster_.LogEnds();
}

// Orders in a burst: each is told, and counted.
TEST_F(ConfigurationsTest, EveryOrderIsTold) {
  constexpr int kOrders = 40;
  cv1::RollbackConfigurationRequest back;
  back.set_name(absl::StrCat("poolConfigurations/", Pool().uid()));
  back.set_node_profile("np-00000000beef");
  for (int i = 0; i < kOrders; ++i) {
    EXPECT_THAT(Call(*configuration_, &Configuration::RollbackConfiguration, back),
                StatusIs(absl::StatusCode::kFailedPrecondition));
  }
  const auto told = [&] {
    int64_t count = 0;
    for (const lv1::Event& event : muster_.Events()) {
      if (event.reason() == "CWNodePoolNodeConfigRollbackFailed") count += event.count();
    }
    return count;
  };
  // Every event comes with a change of the pool.
  EXPECT_TRUE(muster_.Await([&](const auto*) { return told() >= kOrders; })) << told();
  EXPECT_EQ(told(), kOrders);
  cv1::GetPoolConfigurationRequest get;
  get.set_name(back.name());
  Until(
      [&] {
        const auto pool = Call(*configuration_, &Configuration::GetPoolConfiguration, get);
        return pool.ok() && pool->orders_size() == 10;
      },
      "configuration to forget what was told");
}

}  // namespace
}  // namespace muster::testing
