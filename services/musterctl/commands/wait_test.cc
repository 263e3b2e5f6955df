#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/musterctl/commands/testing/commands_test_base.h"

namespace muster::musterctl {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST_F(CommandsTest, WaitShowsProgressUntilThePoolIsHealthy) {
  lifecycle::v1::NodePool young = ReferencePool();
  young.mutable_status()->mutable_conditions()->Clear();
  young.mutable_status()->set_current_nodes(0);
  api_.pools = {absl::NotFoundError("x"), young, young, absl::UnavailableError("away"),
                SummedUpPool()};
  EXPECT_EQ(RunLine({"wait", "nodepool", "example-nodepool", "--for=healthy", "--timeout=1m"}),
            kDone);
  EXPECT_EQ(out(),
            "  0.0s  does not exist yet\n"
            "  0.2s  target 1  queued 0  in progress 0  current 0\n"
            "  0.8s  the server is away, trying again\n"
            "  1.0s  target 1  queued 0  in progress 0  current 1  Validated=Valid  "
            "Capacity=Sufficient  Quota=Under"
            "  AtTarget=TargetMet  NodeReconfigurationRequired=AllNodesUpToDate  Ready=Ready\n"
            "nodepool/example-nodepool is healthy\n");
}

// A Node may be told of as in production that takes no work.
TEST_F(CommandsTest, APoolIsNotHealthyBeforeEveryNodeIsInService) {
  using lifecycle::v1::Node;
  const auto node = [](const std::string& id, Node::State state) {
    Node made;
    made.set_name("organizations/o/clusters/c/nodePools/p/nodes/" + id);
    made.set_state(state);
    return made;
  };
  api_.pools = {SummedUpPool()};
  api_.items[Kind::kNode] = {node("g1", Node::STATE_PRODUCTION), node("g2", Node::STATE_REGISTERED),
                             node("g3", Node::STATE_TRIAGE)};
  EXPECT_EQ(RunLine({"wait", "nodepool", "a", "--timeout=2s"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("is not healthy after 2s: 2 of 3 Nodes not in service: g2 is "
                               "REGISTERED, g3 is TRIAGE"));
  Node marked = node("g1", Node::STATE_PRODUCTION);
  marked.mutable_observed()->set_autoscaler_marked(true);
  Node cordoned = node("g2", Node::STATE_PRODUCTION);
  cordoned.mutable_observed()->set_unschedulable(true);
  api_.pools = {SummedUpPool()};
  api_.items[Kind::kNode] = {marked, cordoned};
  EXPECT_EQ(RunLine({"wait", "nodepool", "a", "--timeout=2s"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("2 of 2 Nodes not in service: g1 is marked by the cluster "
                               "autoscaler, g2 is cordoned by others"));
  api_.pools = {SummedUpPool()};
  api_.items[Kind::kNode] = {node("g1", Node::STATE_PRODUCTION)};
  EXPECT_EQ(RunLine({"wait", "nodepool", "a", "--timeout=2s"}), kDone);
}

// As kubectl has it.
TEST_F(CommandsTest, WaitLooksOnceOrAWeekIfItIsToldTo) {
  lifecycle::v1::NodePool unready = SummedUpPool("False", "UnderTarget", "one is missing");
  api_.pools = {unready};
  api_.items[Kind::kNodePool] = {unready};
  for (const std::vector<std::string>& wait : std::vector<std::vector<std::string>>{
           {"wait", "np/a"},
           {"wait", "np/example-nodepool", "--for=condition=Ready"},
           {"wait", "np", "--all", "--for=condition=Ready"}}) {
    for (const char* nothing : {"0", "0s"}) {
      std::vector<std::string> line = wait;
      line.push_back(absl::StrCat("--timeout=", nothing));
      const absl::Duration begin = steady_.Now();
      api_.ends.clear();
      EXPECT_EQ(RunLine(line), kFailed);
      ASSERT_FALSE(api_.ends.empty());
      EXPECT_EQ(steady_.Now(), begin);
      EXPECT_EQ(api_.ends.front(), absl::InfiniteDuration()) << "the look has a call's time";
    }
  }
  EXPECT_THAT(err(), HasSubstr("timed out waiting for condition=Ready"));
  api_.before_get = [this, looks = 0]() mutable {
    if (++looks == 1200 * 4) api_.items[Kind::kNodePool] = {SummedUpPool()};
  };
  EXPECT_EQ(RunLine({"wait", "np/example-nodepool", "--for=condition=Ready", "--timeout=-1s"}),
            kDone)
      << err();
  EXPECT_EQ(RunLine({"wait", "np/a", "--timeout=soon"}), kWrongUse);
  EXPECT_EQ(err(),
            "error: --timeout: must be a duration such as 30s or 5m, 0 to look once, is "
            "\"soon\"\n");
}

// A server that does not answer holds up nobody.
TEST_F(CommandsTest, TheCallsOfAWaitEndWithIt) {
  const auto ends = [this](const std::vector<std::string>& line) {
    api_.ends.clear();
    RunLine(line);
    return api_.ends;
  };
  const absl::Duration all = absl::InfiniteDuration();
  api_.pools = {SummedUpPool()};
  EXPECT_THAT(ends({"wait", "np/a", "--timeout=7s"}), ElementsAre(absl::Seconds(7), all));
  EXPECT_THAT(ends({"wait", "np/a"}), ElementsAre(absl::Minutes(5), all));
  EXPECT_THAT(ends({"rollout", "status", "np/a", "--timeout=7s"}),
              ElementsAre(absl::Seconds(7), all));
  EXPECT_THAT(ends({"rollout", "status", "np/a", "--watch=false"}), ElementsAre(all, all));
  EXPECT_THAT(ends({"drain", "node/a/g1", "--wait", "--timeout=7s"}),
              ElementsAre(absl::Seconds(7), all));
  EXPECT_THAT(ends({"delete", "np/a", "--timeout=7s"}), ElementsAre(absl::Seconds(7), all));
  EXPECT_THAT(ends({"get", "np/a", "--timeout=7s"}), IsEmpty());
}

// Others of its account ask as well.
TEST_F(CommandsTest, WaitGoesOnWhereItAskedTooOften) {
  api_.pools = {absl::ResourceExhaustedError("too fast"), SummedUpPool()};
  EXPECT_EQ(RunLine({"wait", "nodepool", "a", "--timeout=2s"}), kDone) << err();
}

// Which ones there are is asked like all else.
TEST_F(CommandsTest, WaitForAllGoesOnWhileTheServerIsAway) {
  const absl::Status away = FromServer(absl::UnavailableError("away"));
  api_.items[Kind::kNodePool] = {ReferencePool()};
  api_.refusal_of_reads = away;
  api_.before_list = [this] {
    if (api_.lists == 3) api_.refusal_of_reads = absl::OkStatus();
  };
  EXPECT_EQ(RunLine({"wait", "nodepools", "--all", "--for=create"}), kDone) << err();
  EXPECT_EQ(out(), "nodepool/example-nodepool condition met\n");
  EXPECT_EQ(err(), "nodepools: the server is away, trying again\n");
  EXPECT_EQ(api_.lists, 3);
  api_.refusal_of_reads = away;
  EXPECT_EQ(RunLine({"wait", "nodepools", "-l", "a=b", "--timeout=2s"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("\nerror: away (UNAVAILABLE)\n"));
  // Not to be waited for.
  EXPECT_EQ(RunLine({"wait", "zones", "--all", "--for=healthy"}), kWrongUse);
}

// What was made anew under the name is another one.
TEST_F(CommandsTest, WaitForAnEndIsOverWhenAnotherOneIsThere) {
  lifecycle::v1::NodePool another = ReferencePool();
  another.set_uid("another");
  api_.pools = {ReferencePool(), another};
  EXPECT_EQ(RunLine({"wait", "np/example-nodepool", "--for=deleted", "--timeout=2s"}), kDone)
      << err();
  api_.items[Kind::kNodePool] = {ReferencePool()};
  int looks = 0;
  api_.before_get = [&] {
    if (++looks == 3) api_.items[Kind::kNodePool] = {another};
  };
  EXPECT_EQ(RunLine({"wait", "np/example-nodepool", "--for=delete", "--timeout=2s"}), kDone)
      << err();
  EXPECT_EQ(looks, 3);
}

// No time is left for the second.
TEST_F(CommandsTest, WaitTellsOfNoTimeThatNobodyGave) {
  api_.pools = {absl::NotFoundError("x")};
  EXPECT_EQ(RunLine({"wait", "nodepool/a", "nodepool/b", "--timeout=2s"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("nodepool/a is not healthy after 2s: "));
  EXPECT_THAT(err(), HasSubstr("nodepool/b is not healthy: "));
}

TEST_F(CommandsTest, WaitGivesUpWhateverIsDoneToTheTimeOfDay) {
  clock_step_ = -absl::Hours(1);
  api_.pools = {absl::NotFoundError("x")};
  EXPECT_EQ(RunLine({"wait", "nodepool", "a", "--timeout=2s"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("is not healthy after 2s"));
  EXPECT_EQ(RunLine({"wait", "nodepool", "a", "--for=create", "--timeout=2s"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("timed out waiting for create"));
}

TEST_F(CommandsTest, WaitGivesUpAndSaysWhatIsAmiss) {
  lifecycle::v1::NodePool pool = SummedUpPool("False", "Over", "NodePool is over quota.");
  const auto missing = [&](absl::StatusOr<lifecycle::v1::NodePool> answer) {
    api_.pools = {std::move(answer)};
    EXPECT_EQ(RunLine({"wait", "nodepool", "a", "--timeout=2s"}), kFailed);
    const std::string begin = "error: nodepool/a is not healthy after 2s: ";
    EXPECT_THAT(err(), StartsWith(begin));
    return err().substr(begin.size());
  };
  EXPECT_THAT(missing(pool), StartsWith("Over: NodePool is over quota."));
  pool.set_generation(2);
  EXPECT_THAT(missing(pool), StartsWith("Ready does not speak of the last generation yet"));
  EXPECT_THAT(missing(ReferencePool()), StartsWith("the server does not say whether it is Ready"));
  pool.mutable_delete_time();
  EXPECT_THAT(missing(pool), StartsWith("it is being deleted"));
}

// One that takes too long says nothing of the others.
TEST_F(CommandsTest, WaitGoesOnWithTheOthers) {
  lifecycle::v1::NodePool stuck = SummedUpPool("False", "Over", "NodePool is over quota.");
  api_.items[Kind::kNodePool] = {stuck};
  EXPECT_EQ(RunLine({"wait", "np/example-nodepool", "np/b", "np/c", "--for=condition=Ready",
                     "--timeout=2s"}),
            kFailed);
  EXPECT_THAT(err(),
              HasSubstr("timed out waiting for condition=Ready of nodepool/example-nodepool"));
  EXPECT_THAT(err(), HasSubstr("b does not exist"));
  EXPECT_THAT(err(), HasSubstr("c does not exist"));
}

TEST_F(CommandsTest, WaitUntilDeleted) {
  api_.pools = {ReferencePool(), absl::NotFoundError("gone")};
  EXPECT_EQ(RunLine({"delete", "nodepool", "a", "--wait"}), kDone);
  EXPECT_THAT(out(), EndsWith("gone\nnodepool/a is gone\n"));
  api_.pools = {absl::PermissionDeniedError("no")};
  EXPECT_EQ(RunLine({"wait", "nodepool", "a", "--for", "deleted"}), kFailed);
}

}  // namespace
}  // namespace muster::musterctl
