#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/musterctl/commands/testing/commands_test_base.h"

namespace muster::musterctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using NodeOrdersTest = CommandsTest;

TEST_F(NodeOrdersTest, ReserveAndUnreserve) {
  EXPECT_EQ(RunLine({"reserve", "node", "train/g1"}), kDone);
  EXPECT_EQ(out(), "node/g1 is moved to control-plane: it leaves once it is drained\n");
  EXPECT_EQ(RunLine({"unreserve", "node", "train/g1"}), kDone);
  EXPECT_EQ(out(), "node/g1 stays its organization's\n");
  EXPECT_THAT(api_.calls,
              ElementsAre("update reserved_desired train g1 reserved_desired: \"control-plane\"",
                          "update reserved_desired train g1 "));
}

TEST_F(NodeOrdersTest, AProtectionIsNotCutToAWholeSecond) {
  EXPECT_EQ(RunLine({"protect", "node", "train/g1", "--for=900ms"}), kDone);
  EXPECT_THAT(api_.calls,
              ElementsAre("update protect_until_time train g1 "
                          "protect_until_time { seconds: 1749481134 nanos: 900000000 }"));
}

TEST_F(NodeOrdersTest, ProtectAndUnprotect) {
  EXPECT_EQ(RunLine({"protect", "node", "train/g1", "--for=8h"}), kDone);
  EXPECT_EQ(out(), "node/g1 is protected from scale-down until 2025-06-09T22:58:54Z\n");
  EXPECT_EQ(RunLine({"unprotect", "node", "train/g1"}), kDone);
  EXPECT_EQ(out(), "node/g1 is not protected\n");
  EXPECT_THAT(api_.calls, ElementsAre("update protect_until_time train g1 "
                                      "protect_until_time { seconds: 1749509934 }",
                                      "update protect_until_time train g1 "));
  api_.refusal = BadField("node.protect_until_time", "is not a time");
  EXPECT_EQ(RunLine({"protect", "node", "train/g1", "--for=inf"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("--for: is not a time"));
}

TEST_F(NodeOrdersTest, ProtectionAndReservationMayBeTried) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"protect", "node/train/g1", "--for=8h"},
       "node/g1 would be protected from scale-down until 2025-06-09T22:58:54Z\n"},
      {{"unprotect", "node/train/g1"}, "node/g1 would not be protected\n"},
      {{"reserve", "node/train/g1"},
       "node/g1 would be moved to control-plane: it leaves once it is drained\n"},
      {{"unreserve", "node/train/g1"}, "node/g1 would stay its organization's\n"}};
  for (const auto& [words, text] : cases) {
    std::vector<std::string> line = words;
    line.emplace_back("--dry-run");
    EXPECT_EQ(RunLine(line), kDone) << err();
    EXPECT_EQ(out(), text);
    EXPECT_THAT(api_.calls.back(), StartsWith("try update "));
  }
}

TEST_F(NodeOrdersTest, CordonDrainAndReboot) {
  EXPECT_EQ(RunLine({"cordon", "node/train/g1", "node/train/g2"}), kDone);
  EXPECT_EQ(out(), "node/g1 cordoned\nnode/g2 cordoned\n");
  EXPECT_EQ(RunLine({"uncordon", "node", "train/g1", "--dry-run"}), kDone);
  EXPECT_EQ(out(), "node/g1 would be uncordoned\n");
  EXPECT_EQ(RunLine({"drain", "node", "train/g1"}), kDone);
  EXPECT_EQ(out(), "node/g1 cordoned; its work is moved away as the disruption budget allows\n");
  EXPECT_EQ(RunLine({"drain", "node", "train/g1", "--force"}), kDone);
  EXPECT_EQ(RunLine({"reboot", "node", "train/g1"}), kDone);
  EXPECT_EQ(out(), "node/g1 is rebooted once it is idle\n");
  EXPECT_EQ(RunLine({"reboot", "node", "train/g1", "--drain"}), kDone);
  EXPECT_EQ(RunLine({"reboot", "node", "train/g1", "--force"}), kDone);
  EXPECT_THAT(api_.calls, ElementsAre("order 0 train g1 mode 0", "order 0 train g2 mode 0",
                                      "order 1 train g1 mode 0 tried", "order 2 train g1 mode 0",
                                      "order 2 train g1 force mode 0", "order 3 train g1 mode 1",
                                      "order 3 train g1 mode 2", "order 3 train g1 mode 3"));
  EXPECT_EQ(RunLine({"reboot", "node", "train/g1", "--drain", "--force"}), kWrongUse);
  EXPECT_THAT(err(), HasSubstr("either --drain or --force"));
  EXPECT_EQ(RunLine({"cordon", "nodepool", "train"}), kWrongUse);
}

class NodeWaitTest : public NodeOrdersTest {
 protected:
  using Node = lifecycle::v1::Node;
  void SetUp() override {
    Node node;
    node.set_name("organizations/acme/clusters/example/nodePools/train/nodes/g1");
    node.set_state(Node::STATE_PRODUCTION);
    api_.items[Kind::kNode] = {node};
  }
  Node& node() { return std::get<Node>(api_.items[Kind::kNode][0]); }
  // Does one step before each look at the Node.
  void Steps(std::vector<std::function<void()>> steps) {
    api_.before_get = [steps = std::move(steps), at = size_t{0}]() mutable {
      if (at < steps.size()) steps[at++]();
    };
  }
};

TEST_F(NodeWaitTest, ADrainIsOverOnceNoWorkIsLeft) {
  node().mutable_orders()->mutable_drain_time()->set_seconds(1);
  node().mutable_observed()->set_active(true);
  node().mutable_observed()->add_active_pods("a/job");
  node().mutable_observed()->set_active_pod_count(2);
  Steps({[] {}, [] {}, [this] { node().mutable_observed()->set_drain_blocked_by("a/budget"); },
         [this] { node().clear_observed(); }});
  EXPECT_EQ(RunLine({"drain", "node/train/g1", "--wait"}), kDone) << err();
  EXPECT_EQ(out(),
            "node/g1 cordoned; its work is moved away as the disruption budget allows\n"
            "  0.0s  PRODUCTION  work: a/job, ...\n"
            "  0.5s  PRODUCTION  work: a/job, ...  blocked by a/budget\n"
            "  0.8s  PRODUCTION\n"
            "node/g1 is drained\n");
  node().mutable_observed()->set_active(true);
  EXPECT_EQ(RunLine({"drain", "node/train/g1", "--wait", "--timeout=2s"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("node/g1 is not drained after 2s: PRODUCTION  work: "));
  EXPECT_EQ(options_.timeout, absl::Seconds(10)) << "of each call";
  node().clear_orders();
  EXPECT_EQ(RunLine({"drain", "node/train/g1", "--wait"}), kFailed);
  EXPECT_EQ(err(), "error: node/g1 is not drained: its drain was taken back\n");
  node().mutable_observed()->set_active(false);
  EXPECT_EQ(RunLine({"drain", "node/train/g1", "--wait"}), kFailed);
  EXPECT_EQ(err(), "error: node/g1 is not drained: its drain was taken back\n")
      << "work comes again";
  api_.items[Kind::kNode].clear();
  EXPECT_EQ(RunLine({"drain", "node/train/g1", "--wait"}), kDone);
  EXPECT_EQ(RunLine({"drain", "node/train/g1", "--wait", "--dry-run"}), kWrongUse);
}

TEST_F(NodeWaitTest, WorkThatWasOnItsWayIsWaitedFor) {
  node().mutable_orders()->mutable_drain_time()->set_seconds(1);
  Steps({[] {}, [] {}, [this] { node().mutable_observed()->set_active(true); },
         [this] { node().clear_observed(); }});
  EXPECT_EQ(RunLine({"drain", "node/train/g1", "--wait"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr("  0.0s  PRODUCTION\n"
                               "  0.5s  PRODUCTION  work: \n"
                               "  0.8s  PRODUCTION\n"
                               "node/g1 is drained\n"));
}

TEST_F(NodeWaitTest, WorkThatWasOnItsWayIsWaitedForFromTheCordonOn) {
  node().mutable_orders()->mutable_drain_time()->set_seconds(1);
  std::vector<std::function<void()>> steps(100, [] {});
  steps.push_back([this] { node().mutable_observed()->mutable_cordon_time()->set_seconds(1); });
  steps.push_back([this] { node().mutable_observed()->set_active(true); });
  steps.push_back([this] { node().mutable_observed()->set_active(false); });
  Steps(std::move(steps));
  EXPECT_EQ(RunLine({"drain", "node/train/g1", "--wait"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr("  work: \n"));
}

// Until it is cordoned in its cluster, work may come at any time.
TEST_F(NodeWaitTest, ADrainIsNotOverWhileTheNodeMayTakeWork) {
  node().mutable_orders()->mutable_drain_time()->set_seconds(1);
  std::vector<std::function<void()>> steps(100, [] {});
  steps.push_back([this] { node().mutable_observed()->set_active(true); });
  steps.push_back([this] {
    node().mutable_observed()->set_active(false);
    node().mutable_observed()->mutable_cordon_time()->set_seconds(1);
  });
  Steps(std::move(steps));
  EXPECT_EQ(RunLine({"drain", "node/train/g1", "--wait"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr(" 25.0s  PRODUCTION  work: \n"
                               " 25.2s  PRODUCTION\n"
                               "node/g1 is drained\n"));
}

// By the servers' --cordon_patience, and by their clock.
TEST_F(NodeWaitTest, AnAgentThatSaysNothingIsWaitedForAsLongAsTheServerWaits) {
  constexpr int64_t kOrder = 1'000'000;
  const auto drains = [&](int64_t effective, const char* timeout) {
    node().mutable_cordon_effective_time()->set_seconds(effective);
    return RunLine({"drain", "node/train/g1", "--wait", absl::StrCat("--timeout=", timeout)});
  };
  node().mutable_orders()->mutable_drain_time()->set_seconds(kOrder);
  EXPECT_EQ(drains(kOrder + 30, "29s"), kFailed);
  EXPECT_THAT(err(), HasSubstr("node/g1 is not drained after 29s: PRODUCTION"));
  EXPECT_EQ(drains(kOrder + 30, "31s"), kDone) << err();
  EXPECT_EQ(drains(kOrder + 600, "9m"), kFailed);
  EXPECT_EQ(drains(kOrder + 600, "11m"), kDone) << err();
  // It was cordoned long before.
  EXPECT_EQ(drains(kOrder - 600, "6s"), kDone) << err();
}

TEST_F(NodeWaitTest, ARebootIsOverOnceTheNodeIsBackWithAnotherBoot) {
  using lifecycle::v1::NodeOrders;
  node().mutable_observed()->set_boot_id("b1");
  api_.ordered_node = node();
  node().mutable_orders()->set_reboot(NodeOrders::REBOOT_WHEN_IDLE);
  Steps({[] {},
         [this] {
           node().clear_orders();
           node().set_state(Node::STATE_RECONFIGURING);
           node().mutable_reconfigure_time()->set_seconds(1);
         },
         [this] { api_.refusal_of_reads = absl::UnavailableError("away"); },
         [this] {
           api_.refusal_of_reads = absl::OkStatus();
           node().set_state(Node::STATE_PRODUCTION);
           node().clear_reconfigure_time();
           node().mutable_observed()->set_boot_id("b2");
         }});
  EXPECT_EQ(RunLine({"reboot", "node/train/g1", "--wait"}), kDone) << err();
  EXPECT_EQ(out(),
            "node/g1 is rebooted once it is idle\n"
            "  0.0s  PRODUCTION\n"
            "  0.2s  RECONFIGURING\n"
            "  0.5s  the server is away, trying again\n"
            "  0.8s  PRODUCTION\n"
            "node/g1 is back\n");
  node().mutable_observed()->set_boot_id("b1");
  EXPECT_EQ(RunLine({"reboot", "node/train/g1", "--wait"}), kFailed);
  EXPECT_EQ(err(), "error: node/g1 is not back: its reboot was taken back\n");
  node().set_state(Node::STATE_DELIVERY_FAILED);
  EXPECT_EQ(RunLine({"reboot", "node/train/g1", "--wait"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("it leaves its NodePool"));
}

// Which boot a Node runs may not be known: then a boot that was told of is one.
TEST_F(NodeWaitTest, ARebootWithoutBootIdsIsOverOnceABootIsTold) {
  using lifecycle::v1::NodeOrders;
  const auto take_back = [this] { node().clear_orders(); };
  node().mutable_observed()->mutable_boot_time()->set_seconds(1);
  api_.ordered_node = node();
  node().mutable_orders()->set_reboot(NodeOrders::REBOOT_WHEN_IDLE);
  Steps({[] {},
         [this, take_back] {
           take_back();
           node().mutable_observed()->mutable_boot_time()->set_seconds(2);
         }});
  EXPECT_EQ(RunLine({"reboot", "node/train/g1", "--wait"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr("its agent does not tell which boot it runs"));
  node().mutable_observed()->mutable_boot_time()->set_seconds(1);
  node().mutable_orders()->set_reboot(NodeOrders::REBOOT_WHEN_IDLE);
  Steps({[] {}, take_back});
  EXPECT_EQ(RunLine({"reboot", "node/train/g1", "--wait"}), kFailed);
  EXPECT_EQ(err(), "error: node/g1 is not back: its reboot was taken back\n");
  node().mutable_orders()->set_reboot(NodeOrders::REBOOT_FORCED);
  Steps({});
  EXPECT_EQ(RunLine({"reboot", "node/train/g1", "--wait", "--timeout=2s"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("it reboots only into another configuration"));
}

TEST_F(NodeOrdersTest, ADryRunTellsWhatBeginsAndWhatItWaitsFor) {
  using lifecycle::v1::Node;
  lifecycle::v1::NodePreview& preview = *api_.tried_node.mutable_preview();
  api_.tried_node.set_state(Node::STATE_PRODUCTION);
  preview.set_state(Node::STATE_RECONFIGURING);
  preview.mutable_desired()->set_node_profile("ns-2");
  EXPECT_EQ(RunLine({"reboot", "node", "train/g1", "--force", "--dry-run"}), kDone);
  EXPECT_EQ(out(), "node/g1 would be rebooted at once\n  reboot:  at once, into ns-2\n");

  preview.set_state(Node::STATE_PRODUCTION);
  preview.mutable_desired()->set_drain(true);
  preview.mutable_desired()->mutable_drain_deadline()->set_seconds(1'749'509'934);
  auto& obstacle = *preview.add_obstacles();
  obstacle.set_reason("DRAIN_BLOCKED");
  obstacle.set_message("a/b has no budget.");
  EXPECT_EQ(RunLine({"drain", "node", "train/g1", "--dry-run"}), kDone);
  EXPECT_THAT(out(),
              HasSubstr("  drain:   at once; what is left is deleted at 2025-06-09T22:58:54Z\n"
                        "  waits:   DRAIN_BLOCKED: a/b has no budget.\n"));
}

}  // namespace
}  // namespace muster::musterctl
