#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "services/musterctl/commands/testing/commands_test_base.h"

namespace muster::musterctl {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class RolloutTest : public CommandsTest {
 protected:
  void SetUp() override { api_.items[Kind::kNodePool] = {ReferencePool()}; }
  lifecycle::v1::NodePool In(lifecycle::v1::Reconfiguration::State state, int64_t rebooted,
                             int64_t behind) {
    lifecycle::v1::NodePool made = ReferencePool();
    made.mutable_status()->clear_node_configuration_revisions();
    for (const auto& [profile, nodes] :
         {std::pair("np-old", behind), std::pair("np-0123456789ab", rebooted)}) {
      auto& revision = *made.mutable_status()->add_node_configuration_revisions();
      revision.set_node_profile(profile);
      revision.set_active_nodes(nodes);
      revision.add_summary("GPU driver 570");
      revision.add_summary("Kubernetes 1.33");
      *revision.mutable_created_at() = TimestampOf("2025-06-09T14:48:54Z");
    }
    if (behind > 0) {
      Say(made, "StagedNodeConfig",
          absl::StrCat(behind, " of ", behind + rebooted,
                       " Nodes must be reconfigure-rebooted to reach np-0123456789ab."));
    }
    made.mutable_reconfiguration()->set_number(2);
    made.mutable_reconfiguration()->set_state(state);
    made.mutable_reconfiguration()->set_rebooted_nodes(rebooted);
    return made;
  }
  // What configuration says where the NodePool's status is as it was before.
  configuration::v1::PoolConfiguration PromoteUnseen() {
    api_.pools = {In(lifecycle::v1::Reconfiguration::STATE_DONE, 3, 0)};
    configuration::v1::PoolConfiguration decided;
    decided.set_name("poolConfigurations/" + api_.pools[0]->uid());
    decided.set_active("np-new");
    api_.items[Kind::kConfiguration] = {decided};
    return decided;
  }
  // NodeReconfigurationRequired, which is the last condition of the reference's pool.
  static void Say(lifecycle::v1::NodePool& pool, const std::string& reason,
                  const std::string& message) {
    auto& condition = *pool.mutable_status()->mutable_conditions()->rbegin();
    ASSERT_EQ(condition.type(), "NodeReconfigurationRequired");
    condition.set_reason(reason);
    condition.set_message(message);
  }
};

TEST_F(RolloutTest, StatusWaitsUntilItIsOver) {
  using Reconfiguration = lifecycle::v1::Reconfiguration;
  api_.pools = {In(Reconfiguration::STATE_RUNNING, 0, 3), In(Reconfiguration::STATE_RUNNING, 1, 2),
                absl::UnavailableError("away"), absl::DeadlineExceededError("slow"),
                In(Reconfiguration::STATE_DONE, 3, 0)};
  EXPECT_EQ(RunLine({"rollout", "status", "nodepool/train"}), kDone);
  EXPECT_EQ(out(),
            "Waiting for reconfiguration 2 of nodepool/train: 0 Nodes rebooted, 3 not at "
            "np-0123456789ab yet...\n"
            "Waiting for reconfiguration 2 of nodepool/train: 1 Node rebooted, 2 not at "
            "np-0123456789ab yet...\n"
            "the server is away, trying again\n"
            "nodepool/train: reconfiguration 2 is DONE, 3 Nodes rebooted\n");
  api_.pools = {In(Reconfiguration::STATE_RUNNING, 0, 3)};
  EXPECT_EQ(RunLine({"rollout", "status", "np/train", "--watch=false"}), kDone);
  clock_step_ = -absl::Hours(1);
  EXPECT_EQ(RunLine({"rollout", "status", "np/train", "--timeout=3s"}), kFailed);
  EXPECT_THAT(err(), StartsWith("error: timed out; Waiting for reconfiguration 2"));
  // What was undone is on its way, and no Node is at it yet.
  lifecycle::v1::NodePool undone = In(Reconfiguration::STATE_DONE, 3, 0);
  undone.mutable_status()->mutable_waiting_node_configuration()->set_node_profile("np-a");
  api_.pools = {undone};
  EXPECT_EQ(RunLine({"rollout", "status", "np/train", "--timeout=3s"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("timed out; Waiting for nodepool/train to be at np-a, once no Node "
                               "is in delivery"));
  lifecycle::v1::NodePool halted = In(Reconfiguration::STATE_HALTED, 1, 2);
  halted.mutable_reconfiguration()->set_halt_reason("2 boots failed");
  api_.pools = {halted};
  EXPECT_EQ(RunLine({"rollout", "status", "np/train"}), kFailed);
  EXPECT_THAT(err(),
              HasSubstr("is halted: 2 boots failed; musterctl rollout resume nodepool/train"));
  // It is not resumed into what may not boot.
  halted.mutable_status()->mutable_node_configuration_revisions(1)->set_disabled(true);
  api_.pools = {halted};
  EXPECT_EQ(RunLine({"rollout", "status", "np/train"}), kFailed);
  EXPECT_THAT(err(), AllOf(HasSubstr("musterctl enable revision nodepool/train np-0123456789ab "),
                           HasSubstr("musterctl rollout undo nodepool/train"),
                           Not(HasSubstr("rollout resume"))));
  api_.pools = {In(Reconfiguration::STATE_CANCELLED, 1, 2)};
  EXPECT_EQ(RunLine({"rollout", "status", "np/train"}), kFailed);
  EXPECT_EQ(
      err(),
      "error: nodepool/train: 2 of 3 Nodes must be reconfigure-rebooted to reach np-0123456789ab. "
      "No reconfiguration runs; musterctl reconfigure nodepool/train begins one\n");
  api_.pools = {ReferencePool()};
  EXPECT_EQ(RunLine({"rollout", "status", "np/train"}), kDone);
  EXPECT_EQ(out(), "nodepool/train is up to date: 1 Node at np-0123456789ab\n");
}

// As while the server was away.
TEST_F(RolloutTest, StatusIsOfTheNodePoolThatWasThereAtFirst) {
  using Reconfiguration = lifecycle::v1::Reconfiguration;
  lifecycle::v1::NodePool other = In(Reconfiguration::STATE_DONE, 3, 0);
  other.set_uid("another");
  api_.pools = {In(Reconfiguration::STATE_RUNNING, 0, 3), absl::UnavailableError("away"), other};
  EXPECT_EQ(RunLine({"rollout", "status", "np/train"}), kFailed);
  EXPECT_THAT(out(), EndsWith("the server is away, trying again\n"));
  EXPECT_THAT(err(), StartsWith("error: nodepool/train is gone; another NodePool of that name"));
  api_.pools = {other};
  EXPECT_EQ(RunLine({"rollout", "status", "np/train", "np/eval"}), kDone) << err();
}

// Revisions count Nodes that leave, and not those at a profile that is none of them.
TEST_F(RolloutTest, StatusGoesByTheConditionAndNotByTheRevisions) {
  using Reconfiguration = lifecycle::v1::Reconfiguration;
  const std::vector<std::string> status = {"rollout", "status", "np/train", "--timeout=3s"};
  for (const auto state : {Reconfiguration::STATE_DONE, Reconfiguration::STATE_CANCELLED}) {
    SCOPED_TRACE(state);
    lifecycle::v1::NodePool leaving = In(state, 2, 1);
    Say(leaving, "AllNodesUpToDate",
        "All nodes that stay are on the current configuration; 1 that leaves is not.");
    api_.pools = {leaving};
    EXPECT_EQ(RunLine(status), kDone) << err();
    lifecycle::v1::NodePool restored = In(state, 0, 0);
    Say(restored, "StagedNodeConfig",
        "8 of 8 Nodes must be reconfigure-rebooted to reach np-0123456789ab.");
    api_.pools = {restored};
    EXPECT_EQ(RunLine(status), kFailed);
    EXPECT_THAT(err(), StartsWith("error: nodepool/train: 8 of 8 Nodes must be "));
    // What is not known is waited for.
    lifecycle::v1::NodePool unknown = In(state, 3, 0);
    Say(unknown, "InternalError", "The configuration could not be read.");
    lifecycle::v1::NodePool unseen = In(state, 3, 0);
    unseen.set_generation(2);
    api_.pools = {unknown, unseen, leaving};
    EXPECT_EQ(RunLine(status), kDone) << err();
    EXPECT_THAT(out(), StartsWith("Waiting for nodepool/train: The configuration could not be "
                                  "read.\nWaiting for nodepool/train: the server has not looked "
                                  "at its last generation yet\nnodepool/train"));
  }
  // One of certain machines is over without the others.
  lifecycle::v1::NodePool some = In(Reconfiguration::STATE_DONE, 1, 2);
  some.mutable_reconfiguration()->add_machines("g1");
  api_.pools = {some};
  EXPECT_EQ(RunLine(status), kDone) << err();
}

// Nothing gets there any more: it is not waited for.
TEST_F(RolloutTest, StatusFailsWhereTheActiveConfigurationIsDisabled) {
  using Reconfiguration = lifecycle::v1::Reconfiguration;
  const auto disable = [](lifecycle::v1::NodePool& pool, int revision) {
    pool.mutable_status()->mutable_node_configuration_revisions(revision)->set_disabled(true);
  };
  for (const auto state : {Reconfiguration::STATE_DONE, Reconfiguration::STATE_CANCELLED}) {
    SCOPED_TRACE(state);
    lifecycle::v1::NodePool disabled = In(state, 1, 2);
    Say(disabled, "InternalError",
        "Configuration np-0123456789ab is disabled: too many boots failed.");
    lifecycle::v1::NodePool former = disabled;
    disable(former, 0);
    disable(disabled, 1);
    api_.pools = {former, disabled};
    EXPECT_EQ(RunLine({"rollout", "status", "np/train"}), kFailed);
    EXPECT_THAT(out(), StartsWith("Waiting for nodepool/train: ")) << "a former one is no obstacle";
    EXPECT_EQ(err(),
              "error: nodepool/train: Configuration np-0123456789ab is disabled: too many boots "
              "failed.\n");
    // All that stay may be at it.
    Say(disabled, "AllNodesUpToDate", "All nodes are on the current configuration.");
    api_.pools = {disabled};
    EXPECT_EQ(RunLine({"rollout", "status", "np/train"}), kDone) << err();
  }
}

TEST_F(RolloutTest, OfSeveralNodePools) {
  using Reconfiguration = lifecycle::v1::Reconfiguration;
  api_.pools = {In(Reconfiguration::STATE_DONE, 3, 0)};
  EXPECT_EQ(RunLine({"rollout", "status", "np/train", "np/eval"}), kDone);
  EXPECT_EQ(out(),
            "nodepool/train: reconfiguration 2 is DONE, 3 Nodes rebooted\n"
            "nodepool/eval: reconfiguration 2 is DONE, 3 Nodes rebooted\n");
  EXPECT_EQ(RunLine({"rollout", "history", "np", "train", "eval"}), kDone);
  EXPECT_THAT(out(), StartsWith("nodepool/train\nREVISION "));
  EXPECT_THAT(out(), HasSubstr("\n\nnodepool/eval\nREVISION "));
  EXPECT_EQ(RunLine({"rollout", "resume", "np/train", "np/eval"}), kDone);
  EXPECT_THAT(api_.calls, ElementsAre("control 1 train", "control 1 eval"));
  // One that fails does not keep the next from being asked for, and is told once.
  api_.pools = {absl::NotFoundError("train is gone"), In(Reconfiguration::STATE_DONE, 3, 0)};
  EXPECT_EQ(RunLine({"rollout", "undo", "np/train", "np/eval"}), kFailed);
  EXPECT_EQ(api_.calls.size(), 3u);
  EXPECT_THAT(err(), EndsWith("error: train is gone\n"));
  EXPECT_THAT(api_.rollback_orders, ElementsAre(2)) << "named alike when the line is said again";
}

// The scope's cluster may have a NodePool of that id, too.
TEST_F(RolloutTest, HintsNameTheNodePoolThatWasMeant) {
  using Reconfiguration = lifecycle::v1::Reconfiguration;
  const std::string train = "nodepool/organizations/acme/clusters/c9/nodePools/train";
  api_.pools = {In(Reconfiguration::STATE_CANCELLED, 1, 2)};
  EXPECT_EQ(RunLine({"rollout", "status", train}), kFailed);
  EXPECT_THAT(err(), AllOf(StartsWith("error: nodepool/train: "),
                           HasSubstr("; musterctl reconfigure " + train + " begins one")));
  lifecycle::v1::NodePool halted = In(Reconfiguration::STATE_HALTED, 1, 2);
  api_.pools = {halted};
  EXPECT_EQ(RunLine({"rollout", "status", train}), kFailed);
  EXPECT_THAT(err(), HasSubstr("musterctl rollout resume " + train + " goes on"));
  halted.mutable_status()->mutable_node_configuration_revisions(1)->set_disabled(true);
  api_.pools = {halted};
  EXPECT_EQ(RunLine({"rollout", "status", train}), kFailed);
  EXPECT_THAT(err(), AllOf(HasSubstr("musterctl enable revision " + train + " np-0123456789ab "),
                           HasSubstr("musterctl rollout undo " + train + " leaves it")));
  EXPECT_EQ(RunLine({"rollout", "undo", train}), kDone);
  EXPECT_THAT(err(), HasSubstr("by musterctl reconfigure " + train + "\n"));
  api_.refusal = FromServer(absl::UnknownError("the answer is lost"));
  EXPECT_EQ(RunLine({"rollout", "undo", train, "--to-revision=1"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("with " + train + " --to-revision=np-old "));
}

// Once it is done the number is another profile's.
TEST_F(RolloutTest, AnUndoByNumberIsSaidAgainByTheProfile) {
  using Reconfiguration = lifecycle::v1::Reconfiguration;
  api_.pools = {In(Reconfiguration::STATE_DONE, 3, 1)};
  EXPECT_EQ(RunLine({"rollout", "undo", "np/train", "--to-revision=1", "--request-id=r"}),
            kWrongUse);
  EXPECT_THAT(err(), HasSubstr("--request-id: not with a number of --to-revision"));
  EXPECT_THAT(api_.calls, IsEmpty());
  api_.refusal = FromServer(absl::UnknownError("the answer is lost"));
  EXPECT_EQ(RunLine({"rollout", "undo", "np/train", "np/eval", "--to-revision=1"}), kFailed);
  const std::string id = options_.request_id;
  for (const std::string& again : {"nodepool/train --to-revision=np-old --request-id=" + id + " ",
                                   "nodepool/eval --to-revision=np-old --request-id=" + id + ".2 "})
    EXPECT_THAT(err(), HasSubstr("with " + again + "the same again is done once"));
  EXPECT_THAT(err(), Not(HasSubstr("with --request-id")));
  EXPECT_EQ(RunLine({"rollout", "undo", "np/train", "--to-revision=np-old", "--request-id=r"}),
            kFailed);
  EXPECT_THAT(err(), HasSubstr("with --request-id=r the same again is done once"));
}

// Right after a promotion the NodePool's status is as it was before.
TEST_F(RolloutTest, StatusWaitsForWhatConfigurationHasDecided) {
  configuration::v1::PoolConfiguration decided = PromoteUnseen();
  EXPECT_EQ(RunLine({"rollout", "status", "np/train", "--timeout=2s"}), kFailed);
  EXPECT_EQ(out(), "Waiting for nodepool/train to take up its configuration...\n");
  decided.set_active(api_.pools[0]->status().node_profile());
  decided.mutable_waiting()->set_node_profile("np-new");
  api_.items[Kind::kConfiguration] = {decided};
  EXPECT_EQ(RunLine({"rollout", "status", "np/train", "--timeout=2s"}), kFailed);
  decided.clear_waiting();
  api_.items[Kind::kConfiguration] = {decided};
  EXPECT_EQ(RunLine({"rollout", "status", "np/train"}), kDone);
}

// Only for a moment nobody says what was decided: that is no end.
TEST_F(RolloutTest, StatusAsksConfigurationAgainWhereItDoesNotAnswer) {
  PromoteUnseen();
  api_.before_get = [&] {
    api_.refusal_of_reads =
        api_.gets == 1 ? FromServer(absl::UnavailableError("restarts")) : absl::OkStatus();
  };
  EXPECT_EQ(RunLine({"rollout", "status", "np/train", "--timeout=2s"}), kFailed);
  EXPECT_EQ(out(),
            "the server is away, trying again\n"
            "Waiting for nodepool/train to take up its configuration...\n");
  // Who looks once cannot wait for it.
  api_.before_get = [] {};
  EXPECT_EQ(RunLine({"rollout", "status", "np/train", "--watch=false"}), kDone) << err();
  api_.refusal_of_reads = FromServer(absl::UnavailableError("restarts"));
  EXPECT_EQ(RunLine({"rollout", "status", "np/train", "--watch=false"}), kFailed);
  EXPECT_EQ(out(), "");
  EXPECT_THAT(err(), HasSubstr("nodepool/train: configuration does not answer"));
  // Who may not read it is told by the status.
  api_.before_get = [] {};
  api_.refusal_of_reads = FromServer(absl::PermissionDeniedError("not you"));
  EXPECT_EQ(RunLine({"rollout", "status", "np/train", "--timeout=2s"}), kDone) << err();
}

// Nobody asks for it while the NodePool is invalid and has no Nodes.
TEST_F(RolloutTest, StatusFailsWhereNoConfigurationIsTakenUp) {
  auto invalid = In(lifecycle::v1::Reconfiguration::STATE_DONE, 3, 0);
  auto& status = *invalid.mutable_status();
  status.set_current_nodes(0);
  auto& said = *status.mutable_conditions(0);
  ASSERT_EQ(said.type(), "Validated");
  said.set_reason("Invalid");
  said.set_message("Instance type gd-8xh100ib-i128 is not available in zone US-EAST-04A.");
  configuration::v1::PoolConfiguration decided;
  decided.set_name("poolConfigurations/" + invalid.uid());
  decided.set_active("np-new");
  api_.items[Kind::kConfiguration] = {decided};
  const std::string why =
      "error: nodepool/train takes up its configuration once it is valid: Instance type "
      "gd-8xh100ib-i128 is not available in zone US-EAST-04A.\n";
  api_.pools = {invalid};
  EXPECT_EQ(RunLine({"rollout", "status", "np/train", "--timeout=2s"}), kFailed);
  EXPECT_EQ(err(), why);
  // One with Nodes takes it up though it is invalid.
  status.set_in_progress(1);
  api_.pools = {invalid};
  EXPECT_EQ(RunLine({"rollout", "status", "np/train", "--timeout=2s"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("timed out; "));
  // As what has waited since it had some.
  status.clear_in_progress();
  status.mutable_waiting_node_configuration()->set_node_profile("np-new");
  api_.pools = {invalid};
  EXPECT_EQ(RunLine({"rollout", "status", "np/train", "--timeout=2s"}), kFailed);
  EXPECT_EQ(err(), why);
  // What it is at is no news.
  status.clear_waiting_node_configuration();
  decided.set_active(status.node_profile());
  api_.items[Kind::kConfiguration] = {decided};
  api_.pools = {invalid};
  EXPECT_EQ(RunLine({"rollout", "status", "np/train", "--timeout=2s"}), kDone) << err();
}

// Nor while its type does not exist, whatever Nodes it has: nothing is known of how they stand to a
// new spec.
TEST_F(RolloutTest, StatusFailsWhereTheInstanceTypeIsGone) {
  const std::vector<std::string> status = {"rollout", "status", "np/train", "--timeout=2s"};
  auto invalid = In(lifecycle::v1::Reconfiguration::STATE_DONE, 3, 0);
  ASSERT_GT(invalid.status().current_nodes(), 0);
  auto& said = *invalid.mutable_status()->mutable_conditions(0);
  ASSERT_EQ(said.type(), "Validated");
  said.set_reason("Invalid");
  said.set_event_reason("CWInvalidInstanceType");
  said.set_message("Instance type gd-8xh100ib-i128 does not exist.");
  const std::string why =
      "error: nodepool/train takes up its configuration once it is valid: Instance type "
      "gd-8xh100ib-i128 does not exist.\n";
  api_.pools = {invalid};
  EXPECT_EQ(RunLine(status), kDone) << "what it is at is no news: " << err();
  configuration::v1::PoolConfiguration decided;
  decided.set_name("poolConfigurations/" + invalid.uid());
  decided.set_active("np-new");
  api_.items[Kind::kConfiguration] = {decided};
  EXPECT_EQ(RunLine(status), kFailed);
  EXPECT_EQ(err(), why);
  api_.items[Kind::kConfiguration].clear();
  invalid.set_generation(2);
  said.set_observed_generation(2);
  api_.pools = {invalid};
  EXPECT_EQ(RunLine(status), kFailed);
  EXPECT_EQ(err(), why);
}

// Who only reads leaves nothing in doubt.
TEST_F(RolloutTest, WhatReadsSaysNothingOfARequestId) {
  for (const char* verb : {"history", "status"}) {
    api_.pools = {FromServer(absl::UnavailableError("away"))};
    EXPECT_EQ(RunLine({"rollout", verb, "np/train"}), kFailed);
    EXPECT_THAT(err(), Not(HasSubstr("--request-id")));
  }
}

TEST_F(RolloutTest, HistoryUndoPauseResume) {
  using Reconfiguration = lifecycle::v1::Reconfiguration;
  api_.pools = {In(Reconfiguration::STATE_DONE, 3, 1)};
  api_.configuration.set_active("np-old");
  EXPECT_EQ(RunLine({"rollout", "history", "np", "train"}), kDone);
  EXPECT_EQ(
      out(),
      "nodepool/train\n"
      "REVISION   PROFILE           STATE    NODES   AGE   SUMMARY\n"
      "1          np-old            former   1       10m   GPU driver 570; Kubernetes 1.33\n"
      "2          np-0123456789ab   active   3       10m   GPU driver 570; Kubernetes 1.33\n");
  EXPECT_EQ(RunLine({"rollout", "undo", "np/train"}), kDone);
  EXPECT_EQ(out(), "nodepool/train rolled back: it is at np-old\n");
  EXPECT_EQ(RunLine({"rollout", "undo", "np/train", "--to-revision=1"}), kDone);
  EXPECT_EQ(RunLine({"rollout", "pause", "np/train"}), kDone);
  EXPECT_EQ(RunLine({"rollout", "resume", "np/train", "--timeout=3s"}), kDone);
  EXPECT_EQ(options_.timeout, absl::Seconds(3));
  const std::string uid = ReferencePool().uid();
  EXPECT_THAT(api_.calls, ElementsAre("rollback " + uid + " ", "rollback " + uid + " np-old",
                                      "control 0 train", "control 1 train"));
  api_.calls.clear();
  EXPECT_EQ(RunLine({"rollout", "undo", "np/train", "--dry-run"}), kDone);
  EXPECT_EQ(out(), "nodepool/train would be rolled back: it would be at np-old\n");
  api_.changed.mutable_reconfiguration()->set_number(2);
  api_.changed.mutable_reconfiguration()->set_state(Reconfiguration::STATE_PAUSED);
  api_.changed.mutable_preview()->set_nodes_to_reboot(3);
  EXPECT_EQ(RunLine({"rollout", "pause", "np/train", "--dry-run"}), kDone);
  EXPECT_EQ(out(),
            "nodepool/train would be paused: reconfiguration 2 would be PAUSED\n"
            "  reboots:       3 Nodes to be rebooted\n");
  EXPECT_THAT(api_.calls, ElementsAre("try rollback " + uid + " ", "try control 0 train"));
  EXPECT_EQ(RunLine({"rollout", "undo", "np/train", "--to-revision=3"}), kWrongUse);
  EXPECT_THAT(err(), HasSubstr("--to-revision: must be 1 to 2"));
  EXPECT_EQ(RunLine({"rollout", "restart", "np/train"}), kWrongUse);
  EXPECT_THAT(err(), HasSubstr("musterctl reconfigure"));
  EXPECT_EQ(RunLine({"rollout", "stats", "np/train"}), kWrongUse);
  EXPECT_THAT(err(), HasSubstr("did you mean status?"));
}

}  // namespace
}  // namespace muster::musterctl
