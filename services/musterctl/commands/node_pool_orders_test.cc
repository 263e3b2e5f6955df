#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/musterctl/commands/testing/commands_test_base.h"
#include "services/musterctl/print/preview.h"

namespace muster::musterctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using NodePoolOrdersTest = CommandsTest;

lifecycle::v1::NodePoolPreview GrowingPreview() {
  lifecycle::v1::NodePoolPreview preview;
  preview.mutable_quota()->set_delta(2);
  preview.mutable_quota()->set_nodes(6);
  preview.mutable_quota()->set_limit(10);
  preview.mutable_quota()->set_held(4);
  preview.mutable_quota()->set_reason("Under");
  preview.mutable_capacity()->set_nodes(2);
  preview.mutable_capacity()->set_free_nodes(1);
  preview.mutable_capacity()->set_place(3);
  preview.mutable_capacity()->set_nodes_ahead(7);
  return preview;
}

constexpr char kGrowing[] =
    "  quota:         6 Nodes charged, 2 more than now; Under: 4 of 10 held\n"
    "  capacity:      2 more asked for, 1 free, 0 reclaimable; place 3 in the queue behind 7 "
    "Nodes\n";

TEST_F(NodePoolOrdersTest, ScaleNamesVictims) {
  EXPECT_EQ(RunLine({"scale", "nodepool", "train", "--nodes=3", "--remove", "g1", "--remove=g2"}),
            kDone);
  EXPECT_EQ(out(), "nodepool/train scaled to 3; first to go: g1, g2\n");
  EXPECT_EQ(RunLine({"scale", "np", "train", "--remove=g1"}), kDone);
  EXPECT_THAT(api_.calls, ElementsAre("resize name: \"train\" target_nodes: 3 remove_machines: "
                                      "\"g1\" remove_machines: \"g2\"",
                                      "resize name: \"train\" remove_machines: \"g1\""));
  api_.refusal = BadField("remove_machines[1]", "stands in the request twice");
  EXPECT_EQ(RunLine({"scale", "np", "train", "--remove=g1", "--remove=g1"}), kFailed);
  EXPECT_EQ(err(), "error: --remove g1: stands in the request twice (INVALID_ARGUMENT)\n");
}

TEST_F(NodePoolOrdersTest, WhatIsTakenAndWillNotDoWhatItSaysIsWarnedOf) {
  api_.changed.add_warnings("spec.maxNodes is 6, and quota grants 4.");
  EXPECT_EQ(RunLine({"scale", "nodepool", "train", "--nodes=3"}), kDone);
  EXPECT_EQ(err(), "warning: nodepool/train: spec.maxNodes is 6, and quota grants 4.\n");
  api_.changed.mutable_preview()->set_grantable_nodes(4);
  api_.changed.mutable_preview()->set_grantable_nodes_bound_by("Quota");
  api_.calls.clear();
  EXPECT_EQ(RunLine({"scale", "np/train", "--replicas=3", "--must-fit"}), kDone);
  EXPECT_THAT(api_.calls, ElementsAre("resize name: \"train\" target_nodes: 3 must_fit: true"));
  EXPECT_EQ(RunLine({"scale", "nodepool", "train", "--nodes=3", "--dry-run"}), kDone);
  EXPECT_THAT(out(), ::testing::HasSubstr("  grantable:     4 Nodes at most, by quota\n"));
}

TEST_F(NodePoolOrdersTest, ADryRunSaysWhatWouldComeOfIt) {
  *api_.changed.mutable_preview() = GrowingPreview();
  EXPECT_EQ(RunLine({"scale", "nodepool", "train", "--nodes=6", "--dry-run"}), kDone);
  EXPECT_EQ(out(), std::string("nodepool/train would be scaled to 6\n") + kGrowing);
  EXPECT_EQ(RunLine({"delete", "nodepool", "train", "--dry-run"}), kDone);
  EXPECT_EQ(out(), std::string("nodepool/train would be deleted\n") + kGrowing);
  EXPECT_EQ(RunLine({"reconfigure", "nodepool", "train", "--dry-run"}), kDone);
  EXPECT_EQ(out(), std::string("nodepool/train has nothing to reconfigure\n") + kGrowing);
  api_.changed.mutable_preview()->set_nodes_to_reboot(2);
  EXPECT_EQ(RunLine({"reconfigure", "nodepool", "train", "--dry-run"}), kDone);
  EXPECT_EQ(out(), std::string("nodepool/train would be reconfigured\n") + kGrowing +
                       "  reboots:       2 Nodes to be rebooted\n");
  api_.applied = {
      .outcome = Outcome::kConfigured, .detail = "spec.target_nodes", .preview = GrowingPreview()};
  EXPECT_EQ(RunLine({"apply", "-f", "-", "--dry-run", "--must-fit"}, kTrainManifest), kDone);
  EXPECT_EQ(out(),
            std::string("nodepool/train would be configured (spec.target_nodes)\n") + kGrowing);
  EXPECT_THAT(
      api_.calls,
      ElementsAre("resize name: \"train\" target_nodes: 6 validate_only: true", "try delete train",
                  "reconfigure name: \"train\" validate_only: true",
                  "reconfigure name: \"train\" validate_only: true", "try apply 7 must fit"));
}

TEST(PreviewTest, SaysOnlyWhatThereIsToSay) {
  lifecycle::v1::NodePoolPreview preview;
  EXPECT_EQ(RenderPreview(preview), "");
  for (int i = 0; i < 12; ++i) preview.add_victims("g" + std::to_string(i));
  preview.set_victim_count(15);
  preview.set_waiting_victims(4);
  preview.set_node_profile("np-a");
  preview.set_pending_node_profile("np-b");
  preview.set_nodes_to_reboot(3);
  EXPECT_EQ(RenderPreview(preview),
            "  victims:       15 to go: g0, g1, g2, g3, g4, g5, g6, g7, g8, g9 and 5 more; 4 with "
            "work, once they are idle\n"
            "  configuration: np-a active, np-b waits to be promoted\n"
            "  reboots:       3 Nodes to be rebooted\n");
}

TEST(PreviewTest, QuotaAndCapacityThatHaveNoNumbers) {
  lifecycle::v1::NodePoolPreview preview;
  preview.mutable_quota()->set_nodes(1);
  preview.mutable_quota()->set_delta(-3);
  preview.mutable_quota()->set_reason("NotSet");
  preview.mutable_capacity()->set_nodes(1);
  EXPECT_EQ(RenderPreview(preview),
            "  quota:         1 Node charged, 3 fewer than now; NotSet: there is no quota\n"
            "  capacity:      1 more asked for, 0 free, 0 reclaimable; granted at once\n");
  preview.mutable_quota()->set_delta(0);
  preview.mutable_quota()->set_reason("InternalError");
  preview.mutable_capacity()->set_problem("Capacity is away.");
  EXPECT_EQ(RenderPreview(preview),
            "  quota:         1 Node charged, as now; quota could not be asked\n"
            "  capacity:      1 more asked for; Capacity is away.\n");
}

TEST(PreviewTest, AnInvalidPoolSaysWhyFirst) {
  lifecycle::v1::NodePoolPreview preview;
  preview.set_invalid("No release of gpu-driver 999 in channel stable: there is 570.");
  preview.mutable_quota()->set_reason("Under");
  EXPECT_EQ(RenderPreview(preview),
            "  invalid:       No release of gpu-driver 999 in channel stable: there is 570.\n"
            "  quota:         0 Nodes charged, as now; Under: 0 of 0 held\n");
}

TEST_F(NodePoolOrdersTest, ReconfigureAndItsControls) {
  auto& reconfiguration = *api_.changed.mutable_reconfiguration();
  reconfiguration.set_number(2);
  reconfiguration.set_state(lifecycle::v1::Reconfiguration::STATE_RUNNING);
  EXPECT_EQ(RunLine({"reconfigure", "nodepool", "train", "--machine=g1", "--machine=g2",
                     "--evict-active", "--max-unavailable=25%", "--allowed-failures=3"}),
            kDone);
  EXPECT_EQ(out(), "nodepool/train: reconfiguration 2 is RUNNING, 0 Nodes rebooted\n");
  reconfiguration.set_state(lifecycle::v1::Reconfiguration::STATE_PAUSED);
  reconfiguration.set_rebooted_nodes(4);
  EXPECT_EQ(RunLine({"pause", "reconfiguration", "train"}), kDone);
  EXPECT_EQ(out(), "nodepool/train: reconfiguration 2 is PAUSED, 4 Nodes rebooted\n");
  EXPECT_EQ(RunLine({"resume", "reconfiguration", "train"}), kDone);
  EXPECT_EQ(RunLine({"cancel", "reconfiguration", "train"}), kDone);
  EXPECT_THAT(api_.calls,
              ElementsAre("reconfigure name: \"train\" machines: \"g1\" machines: \"g2\" "
                          "evict_active: true max_unavailable: \"25%\" allowed_failures: 3",
                          "control 0 train", "control 1 train", "control 2 train"));
  api_.calls.clear();
  EXPECT_EQ(RunLine({"cancel", "nodepool/train", "--dry-run"}), kDone);
  EXPECT_EQ(out(), "nodepool/train: reconfiguration 2 would be PAUSED, 4 Nodes rebooted\n");
  EXPECT_EQ(RunLine({"pause", "nodepool/train", "np/eval"}), kDone);
  EXPECT_EQ(RunLine({"resume", "reconfiguration", "train", "eval"}), kDone);
  EXPECT_EQ(out(),
            "nodepool/train: reconfiguration 2 is PAUSED, 4 Nodes rebooted\n"
            "nodepool/eval: reconfiguration 2 is PAUSED, 4 Nodes rebooted\n");
  EXPECT_EQ(RunLine({"reconfigure", "nodepool/train", "nodepool/eval"}), kDone);
  EXPECT_THAT(api_.calls, ElementsAre("try control 2 train", "control 0 train", "control 0 eval",
                                      "control 1 train", "control 1 eval",
                                      "reconfigure name: \"train\"", "reconfigure name: \"eval\""));
  EXPECT_EQ(RunLine({"reconfigure", "np/train", "np/eval", "--machine=g1"}), kWrongUse);
  const std::pair<const char*, const char*> renamed[] = {
      {"machines[0]", "--machine g1: "},
      {"machines", "--machine: "},
      {"max_unavailable", "--max-unavailable: "},
      {"allowed_failures", "--allowed-failures: "}};
  for (const auto& [field, flag] : renamed) {
    api_.refusal = BadField(field, "is wrong");
    EXPECT_EQ(RunLine({"reconfigure", "np", "train", "--machine=g1"}), kFailed);
    EXPECT_THAT(err(), HasSubstr(flag));
  }
}

}  // namespace
}  // namespace muster::musterctl
