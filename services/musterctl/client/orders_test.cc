// What the Api asks of servers when somebody orders something.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/container/flat_hash_set.h"
#include "services/musterctl/client/testing/api_test_base.h"
#include "services/musterctl/manifest/machine_set.h"

namespace muster::musterctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

TEST_F(ApiTest, OrdersNameTheirNodePool) {
  const std::string name = "name: \"organizations/acme/clusters/example/nodePools/train\"";
  lifecycle::v1::ResizeNodePoolRequest resize;
  resize.set_name("train");
  resize.add_remove_machines("g1");
  EXPECT_TRUE(api_->Resize(resize).ok());
  lifecycle::v1::ReconfigureNodePoolRequest reconfigure;
  reconfigure.set_name("train");
  EXPECT_TRUE(api_->Reconfigure(reconfigure).ok());
  for (const auto verb :
       {ReconfigurationVerb::kPause, ReconfigurationVerb::kResume, ReconfigurationVerb::kCancel}) {
    EXPECT_TRUE(api_->ControlReconfiguration(verb, "train", false).ok());
  }
  EXPECT_TRUE(api_->ControlReconfiguration(ReconfigurationVerb::kPause, "train", true).ok());
  EXPECT_TRUE(api_->DeleteNodePool("train", true).ok());
  EXPECT_TRUE(api_->ExplainNodePool("train").ok());
  lifecycle::v1::Node changed;
  EXPECT_TRUE(api_->UpdateNode("train", "g1", changed, "reserved_desired", false).ok());
  changed.mutable_protect_until_time()->set_seconds(5);
  EXPECT_TRUE(api_->UpdateNode("train", "g1", changed, "protect_until_time", true).ok());
  const std::string node = "name: \"organizations/acme/clusters/example/nodePools/train/nodes/g1\"";
  EXPECT_THAT(
      server_.heard,
      ElementsAre("resize " + name + " remove_machines: \"g1\"", "reconfigure " + name,
                  "pause " + name, "resume " + name, "cancel " + name,
                  "pause " + name + " validate_only: true",
                  "delete " + name + " validate_only: true", "explain " + name,
                  "update node { " + node + " } update_mask { paths: \"reserved_desired\" }",
                  "update node { " + node +
                      " protect_until_time { seconds: 5 } } update_mask { paths: "
                      "\"protect_until_time\" } validate_only: true"));
}

// Wherever the caller looks otherwise.
TEST_F(ApiTest, EventsAreAskedForInTheClusterOfTheirPool) {
  EXPECT_TRUE(
      api_->PoolEvents("organizations/beta/clusters/c2/nodePools/p/nodes/g1", "uid-1").ok());
  ASSERT_THAT(server_.heard, SizeIs(1));
  EXPECT_THAT(server_.heard[0], HasSubstr("parent: \"organizations/beta/clusters/c2\""));
  EXPECT_THAT(server_.heard[0], HasSubstr("pool_uid: \"uid-1\""));
}

TEST_F(ApiTest, OrdersOfNodes) {
  const std::string node = "name: \"organizations/acme/clusters/example/nodePools/train/nodes/g1\"";
  EXPECT_TRUE(api_->OrderNode("train", "g1", {.verb = NodeVerb::kCordon}).ok());
  EXPECT_TRUE(
      api_->OrderNode("train", "g1", {.verb = NodeVerb::kUncordon, .validate_only = true}).ok());
  EXPECT_TRUE(api_->OrderNode("train", "g1", {.verb = NodeVerb::kDrain, .force = true}).ok());
  EXPECT_TRUE(api_->OrderNode("train", "g1",
                              {.verb = NodeVerb::kReboot,
                               .mode = lifecycle::v1::NodeOrders::REBOOT_DRAINED})
                  .ok());
  EXPECT_THAT(
      server_.heard,
      ElementsAre("cordon " + node, "uncordon " + node + " validate_only: true",
                  "drain " + node + " force: true", "reboot " + node + " mode: REBOOT_DRAINED"));
}

TEST_F(ApiTest, StatesOfMachines) {
  EXPECT_TRUE(api_->SetMachineState("g1", capacity::v1::Machine::STATE_FREE, false).ok());
  EXPECT_TRUE(api_->SetMachineState("g1", capacity::v1::Machine::STATE_RETIRED, true).ok());
  EXPECT_THAT(server_.heard,
              ElementsAre("set name: \"machines/g1\" state: STATE_FREE",
                          "set name: \"machines/g1\" state: STATE_RETIRED validate_only: true"));
  EXPECT_THAT(server_.ids, SizeIs(2));
  EXPECT_NE(server_.ids[0], "");
}

TEST_F(ApiTest, OrdersOfReleasesAndConfigurations) {
  const std::string release = "channels/stable/components/gpu-driver/releases/570";
  EXPECT_TRUE(api_->PublishRelease(release, false).ok());
  EXPECT_TRUE(api_->PublishRelease(release, true).ok());
  EXPECT_TRUE(api_->WithdrawRelease(release, true).ok());
  EXPECT_TRUE(api_->Promote("u", "", true).ok());
  EXPECT_TRUE(api_->Rollback("u", "np-1", false).ok());
  EXPECT_TRUE(api_->Rollback("u", "np-1", true).ok());
  EXPECT_TRUE(api_->EnableRevision("u", "np-1", true).ok());
  const std::string pool = "name: \"poolConfigurations/u\"";
  EXPECT_THAT(server_.heard,
              ElementsAre("publish release { name: \"" + release + "\" }",
                          "publish release { name: \"" + release + "\" } validate_only: true",
                          "withdraw name: \"" + release + "\" validate_only: true",
                          "promote " + pool + " validate_only: true",
                          "rollback " + pool + " node_profile: \"np-1\"",
                          "rollback " + pool + " node_profile: \"np-1\" validate_only: true",
                          "enable " + pool + " node_profile: \"np-1\" validate_only: true"));
}

TEST_F(ApiTest, MutationsBearAnIdEachUnlessTheyAreTried) {
  absl::flat_hash_set<std::string> used;
  const MachineSetSpec spec{.prefix = "a", .zone = "A-1A", .instance_type = "t", .count = 501};
  EXPECT_EQ(ApplyOutcome(MachineSet{"a", Expand(spec, used)}), Outcome::kCreated);
  EXPECT_EQ(ApplyOutcome(Quota("A-1A", 1)), Outcome::kCreated);
  EXPECT_TRUE(api_->DeleteNodePool("train", false).ok());
  ASSERT_THAT(server_.ids, SizeIs(4));
  const std::string id = server_.ids[0];
  EXPECT_THAT(id, MatchesRegex("[0-9a-f]{32}"));
  EXPECT_THAT(server_.ids, ElementsAre(id, id + ".2", id + ".3", id + ".4"));
  server_.ids.clear();
  EXPECT_TRUE(api_->DeleteNodePool("train", true).ok());
  EXPECT_EQ(ApplyOutcome(Quota("A-1A", 2), true), Outcome::kConfigured);
  EXPECT_THAT(server_.ids, ElementsAre("", ""));
  // Another one's are others.
  api_ = Api::Create({.server = server_.address()});
  EXPECT_TRUE(api_->DeleteNodePool("train", false).ok());
  EXPECT_NE(server_.ids[2], id);
}

TEST_F(ApiTest, WhatNobodyKnowsTheOutcomeOfIsRepeatedUnderItsId) {
  std::vector<absl::Duration> pauses;
  api_ = Api::Create({.server = server_.address(),
                      .request_id = "mine",
                      .sleep = [&](absl::Duration pause) { pauses.push_back(pause); }});
  lifecycle::v1::ResizeNodePoolRequest resize;
  resize.set_name("train");
  server_.failures = {grpc::StatusCode::UNKNOWN, grpc::StatusCode::UNAVAILABLE};
  EXPECT_TRUE(api_->Resize(resize).ok());
  EXPECT_THAT(server_.ids, ElementsAre("mine", "mine", "mine"));
  EXPECT_EQ(pauses.size(), 2u);
  // Not for ever.
  server_.ids.clear();
  server_.failures = std::vector<grpc::StatusCode>(10, grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(absl::IsUnavailable(api_->Resize(resize).status()));
  EXPECT_THAT(server_.ids, ElementsAre("mine.2", "mine.2", "mine.2", "mine.2"));
  // What is refused is refused; and what has no id is repeated by gRPC, if it may be
  // (proto/muster/service_config.json).
  server_.ids.clear();
  server_.failures = {grpc::StatusCode::FAILED_PRECONDITION};
  EXPECT_FALSE(api_->Resize(resize).ok());
  EXPECT_THAT(server_.ids, ElementsAre("mine.3"));
  server_.heard.clear();
  server_.failures = {grpc::StatusCode::UNAVAILABLE};
  EXPECT_TRUE(api_->ExplainNodePool("train").ok());
  EXPECT_THAT(server_.heard, SizeIs(2));
}

}  // namespace
}  // namespace muster::musterctl
