#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/musterctl/commands/testing/commands_test_base.h"

namespace muster::musterctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using ConfigurationCommandsTest = CommandsTest;

TEST_F(ConfigurationCommandsTest, ReleasesByIdOrName) {
  const std::string name = "channels/stable/components/gpu-driver/releases/570.1";
  EXPECT_EQ(RunLine({"publish", "release", "stable~gpu-driver~570.1"}), kDone);
  EXPECT_EQ(out(), "release/stable~gpu-driver~570.1 published\n");
  EXPECT_EQ(RunLine({"withdraw", "release", name}), kDone);
  EXPECT_EQ(out(), "release/stable~gpu-driver~570.1 withdrawn\n");
  EXPECT_THAT(api_.calls, ElementsAre("publish " + name, "withdraw " + name));
}

TEST_F(ConfigurationCommandsTest, OrdersTellWhatTheyCameTo) {
  api_.configuration.set_active("np-a");
  EXPECT_EQ(RunLine({"promote", "u-1"}), kDone);
  EXPECT_EQ(out(), "configuration/u-1 is at np-a\n");
  api_.configuration.mutable_waiting()->set_node_profile("np-b");
  EXPECT_EQ(RunLine({"rollback", "u-1", "np-b"}), kDone);
  EXPECT_EQ(out(), "configuration/u-1 will be at np-b once no Node is in delivery\n");
  EXPECT_EQ(RunLine({"enable", "revision", "u-1", "np-a"}), kDone);
  EXPECT_EQ(out(), "configuration/u-1: np-a may be booted\n");
  EXPECT_THAT(api_.calls, ElementsAre("promote u-1 ", "rollback u-1 np-b", "enable u-1 np-a"));
}

TEST_F(ConfigurationCommandsTest, APoolMayBeNamed) {
  api_.pools = {ReferencePool()};
  api_.configuration.set_active("np-a");
  EXPECT_EQ(RunLine({"promote", "nodepool", "train"}), kDone);
  EXPECT_EQ(out(), "nodepool/train is at np-a\n");
  EXPECT_EQ(RunLine({"rollback", "np", "train", "np-a"}), kDone);
  const std::string uid = ReferencePool().uid();
  EXPECT_THAT(api_.calls, ElementsAre("promote " + uid + " ", "rollback " + uid + " np-a"));
  api_.pools = {absl::NotFoundError("no such pool")};
  EXPECT_EQ(RunLine({"promote", "nodepool", "train"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("no such pool"));
  EXPECT_EQ(api_.calls.size(), 2u);
}

TEST_F(ConfigurationCommandsTest, SeveralAtOnce) {
  api_.pools = {ReferencePool()};
  api_.configuration.set_active("np-a");
  const std::string uid = ReferencePool().uid();
  EXPECT_EQ(RunLine({"promote", "nodepool/train", "np/eval"}), kDone);
  EXPECT_EQ(out(), "nodepool/train is at np-a\nnodepool/eval is at np-a\n");
  EXPECT_EQ(RunLine({"rollback", "configuration/u-1", "configuration/u-2", "profile/np-a"}), kDone);
  EXPECT_EQ(RunLine({"enable", "revision", "nodepool/train", "configuration/u-2", "np-b"}), kDone);
  EXPECT_EQ(out(), "nodepool/train: np-b may be booted\nconfiguration/u-2: np-b may be booted\n");
  EXPECT_EQ(RunLine({"publish", "release", "a~b~1", "a~b~2"}), kDone);
  EXPECT_EQ(RunLine({"withdraw", "release/a~b~1", "release/a~b~2"}), kDone);
  EXPECT_EQ(out(), "release/a~b~1 withdrawn\nrelease/a~b~2 withdrawn\n");
  const std::string releases = "channels/a/components/b/releases/";
  EXPECT_THAT(api_.calls,
              ElementsAre("promote " + uid + " ", "promote " + uid + " ", "rollback u-1 np-a",
                          "rollback u-2 np-a", "enable " + uid + " np-b", "enable u-2 np-b",
                          "publish " + releases + "1", "publish " + releases + "2",
                          "withdraw " + releases + "1", "withdraw " + releases + "2"));
  // Nothing is sent where a name is none.
  api_.calls.clear();
  EXPECT_EQ(RunLine({"publish", "release", "a~b~1", "a~b"}), kWrongUse);
  EXPECT_EQ(RunLine({"promote", "nodepool/train", "node/train/g1"}), kWrongUse);
  EXPECT_EQ(RunLine({"promote", "profile/np-a"}), kWrongUse);
  EXPECT_THAT(api_.calls, IsEmpty());
  // One error for each that fails.
  api_.refusal = absl::FailedPreconditionError("No configuration is pending.");
  EXPECT_EQ(RunLine({"promote", "nodepool/train", "nodepool/eval"}), kFailed);
  EXPECT_EQ(err(), "error: No configuration is pending.\nerror: No configuration is pending.\n");
}

TEST_F(ConfigurationCommandsTest, ADryRunSaysWhatWouldCome) {
  api_.configuration.set_active("np-a");
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"publish", "release", "a~b~c"}, "release/a~b~c would be published\n"},
      {{"withdraw", "release", "a~b~c"}, "release/a~b~c would be withdrawn\n"},
      {{"promote", "u-1"}, "configuration/u-1 would be at np-a\n"},
      {{"rollback", "u-1"}, "configuration/u-1 would be at np-a\n"},
      {{"enable", "revision", "u-1", "np-b"}, "configuration/u-1: np-b might be booted\n"}};
  for (const auto& [words, text] : cases) {
    std::vector<std::string> line = words;
    line.emplace_back("--dry-run");
    EXPECT_EQ(RunLine(line), kDone) << err();
    EXPECT_EQ(out(), text);
    EXPECT_THAT(api_.calls.back(), StartsWith("try "));
  }
  api_.configuration.mutable_waiting()->set_node_profile("np-b");
  EXPECT_EQ(RunLine({"promote", "u-1", "--dry-run"}), kDone);
  EXPECT_EQ(out(), "configuration/u-1 would be at np-b once no Node is in delivery\n");
}

TEST_F(ConfigurationCommandsTest, ARefusalIsTold) {
  api_.refusal = absl::FailedPreconditionError("No configuration is pending.");
  for (const std::vector<std::string>& line : {std::vector<std::string>{"promote", "u-1"},
                                               {"rollback", "u-1"},
                                               {"enable", "revision", "u-1", "np-a"},
                                               {"publish", "release", "a~b~c"}}) {
    EXPECT_EQ(RunLine(line), kFailed);
    EXPECT_THAT(err(), HasSubstr("No configuration is pending."));
    EXPECT_EQ(out(), "");
  }
}

TEST_F(ConfigurationCommandsTest, ConfigurationsAndProfilesAreShown) {
  configuration::v1::PoolConfiguration pool;
  pool.set_name("poolConfigurations/u-1");
  pool.set_active("np-a");
  api_.items[Kind::kConfiguration] = {pool};
  configuration::v1::NodeProfile profile;
  profile.set_name("nodeProfiles/np-a");
  profile.set_image("2.10.1");
  api_.items[Kind::kNodeProfile] = {profile};
  EXPECT_EQ(RunLine({"get", "configurations"}), kDone);
  EXPECT_THAT(out(), HasSubstr("u-1            np-a"));
  EXPECT_EQ(RunLine({"get", "profile", "np-a"}), kDone);
  EXPECT_THAT(out(), HasSubstr("np-a   2.10.1"));
}

}  // namespace
}  // namespace muster::musterctl
