#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/musterctl/commands/commands_test_base.h"

namespace muster::musterctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

}  // namespace
}  // namespace muster::musterctl
