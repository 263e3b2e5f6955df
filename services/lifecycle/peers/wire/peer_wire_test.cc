#include "services/lifecycle/peers/wire/peer_wire.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Pool Asking() {
  Pool pool{.name = "organizations/acme/clusters/c1/nodePools/train", .uid = "u1"};
  pool.zone = "US-EAST-04A";
  pool.spec.compute_class = "spot";
  pool.spec.instance_type = "gd-8xh100ib-i128";
  pool.spec.priority = -3;
  pool.spec.gang = true;
  pool.spec.node_affinity = {{{"disk", "In", {"nvme", "ssd"}}, {"old", "DoesNotExist", {}}},
                             {{"row", "NotIn", {"7"}}, {"new", "Exists", {}}}};
  pool.spec.image = Image{"6.8", "ncore", "latest"};
  pool.spec.gpu = Gpu{"570"};
  pool.spec.update_strategy = "Always";
  return pool;
}

Cluster AskingFrom() {
  Cluster cluster;
  cluster.kubernetes_version = "1.33";
  return cluster;
}

// The fields of a message that are not set, by name.
std::vector<std::string> Unset(const google::protobuf::Message& message) {
  std::vector<std::string> unset;
  const auto& reflection = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const auto* field = message.GetDescriptor()->field(i);
    const bool set = field->is_repeated() ? reflection.FieldSize(message, field) > 0
                                          : reflection.HasField(message, field);
    if (!set) unset.push_back(field->name());
  }
  return unset;
}

template <typename Message>
void ExpectSays(const Message& message, const std::string& text) {
  Message expected;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &expected));
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(message, expected))
      << message.DebugString();
}

TEST(PeerWire, AHoldingIsAskedForWithAll) {
  const quota::v1::HoldingRequest request = RequestOf(Asking(), HoldingAsk{4, 7, true, true});
  // A pool that does not fit waits for its quota.
  EXPECT_THAT(Unset(request), ElementsAre("must_fit"));
  ExpectSays(request,
             R"(name: "organizations/acme/quotas/US-EAST-04A~gd-8xh100ib-i128~spot/holdings/u1"
                nodes: 4 generation: 7 release: true at_least: true
                pool: "organizations/acme/clusters/c1/nodePools/train")");
}

TEST(PeerWire, AClaimIsAskedForWithAll) {
  using Reason = MachineReturn::Reason;
  const capacity::v1::ClaimRequest request =
      RequestOf(Asking(), ClaimAsk{4,
                                   7,
                                   {{"g1", Reason::kReleased},
                                    {"g2", Reason::kBroken, absl::FromUnixMillis(25'500)},
                                    {"g3", Reason::kPreempted}},
                                   true,
                                   9,
                                   2});
  // Who asks adds what it knows.
  EXPECT_THAT(Unset(request), ElementsAre("known_machines"));
  ExpectSays(request, R"(
    pool_uid: "u1" generation: 7 zone: "US-EAST-04A" instance_type: "gd-8xh100ib-i128"
    compute_class: COMPUTE_CLASS_SPOT nodes: 4 wanted_nodes: 9 leaving_nodes: 2 priority: -3 gang: true
    release: true pool: "organizations/acme/clusters/c1/nodePools/train" organization: "acme"
    returns { machine: "g1" reason: REASON_RELEASED }
    returns { machine: "g2" reason: REASON_BROKEN grant_time { seconds: 25 nanos: 500000000 } }
    returns { machine: "g3" reason: REASON_PREEMPTED }
    affinity {
      terms {
        expressions { key: "disk" operator: OPERATOR_IN values: "nvme" values: "ssd" }
        expressions { key: "old" operator: OPERATOR_DOES_NOT_EXIST }
      }
      terms {
        expressions { key: "row" operator: OPERATOR_NOT_IN values: "7" }
        expressions { key: "new" operator: OPERATOR_EXISTS }
      }
    })");
}

TEST(PeerWire, AConfigurationIsAskedForWithAll) {
  ConfigurationAsk ask;
  ask.generation = 7;
  ask.gpu = true;
  ask.delivering = true;
  ask.boot_failures = {"np-1", 2, {"g1", "g2"}};
  ask.running_profiles = {"np-1", "np-2"};
  ask.orders_told = 5;
  Pool pool = Asking();
  const configuration::v1::ConfigurationRequest request = RequestOf(pool, AskingFrom(), ask);
  EXPECT_THAT(Unset(request), ElementsAre("release"));
  // With an image the driver is not read.
  EXPECT_THAT(Unset(request.spec()), ElementsAre("gpu_version"));
  EXPECT_THAT(Unset(request.boot_failures()), IsEmpty());
  ExpectSays(request, R"(
    pool_uid: "u1" pool: "organizations/acme/clusters/c1/nodePools/train"
    generation: 7 nodes_in_delivery: 1 orders_told: 5
    running_profiles: "np-1" running_profiles: "np-2"
    boot_failures { node_profile: "np-1" enable_count: 2 machines: "g1" machines: "g2" }
    spec {
      image_name: "ncore" image_kernel: "6.8" release_train: "latest" gpu: true kubernetes: "1.33"
      strategy: STRATEGY_ALWAYS
    })");
  pool.spec.image = Image{.release_train = "stable"};
  EXPECT_EQ(RequestOf(pool, AskingFrom(), ask).spec().gpu_version(), "") << "any image wins";
  pool.spec.image.reset();
  EXPECT_EQ(RequestOf(pool, AskingFrom(), ask).spec().gpu_version(), "570");
  // A release wants nothing.
  ask.release = true;
  ExpectSays(RequestOf(pool, AskingFrom(), ask), R"(pool_uid: "u1" generation: 7 release: true)");
}

TEST(PeerWire, WhatIsKnownOfMachinesStandsInTheirOrder) {
  capacity::v1::Claim claim;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(machines: "g1" machines: "g2" racks: "r1" racks: "r2"
         request_times { seconds: 10 } request_times { seconds: 20 }
         grant_times { seconds: 30 } grant_times { seconds: 40 nanos: 1000 })",
      &claim));
  const std::map<std::string, absl::Time> expected = {{"g1", absl::FromUnixSeconds(10)},
                                                      {"g2", absl::FromUnixSeconds(20)}};
  EXPECT_EQ(FactsOf(claim).request_times, expected);
  EXPECT_EQ(FactsOf(claim).grant_times.at("g2"), absl::FromUnixMicros(40'000'001));
  EXPECT_EQ(FactsOf(claim).racks.at("g2"), "r2");
  // A capacity that does not tell them yet.
  claim.clear_request_times();
  EXPECT_TRUE(FactsOf(claim).request_times.empty());
  claim.clear_grant_times();
  EXPECT_TRUE(FactsOf(claim).grant_times.empty());
}

TEST(PeerWire, MachinesThatAreLeftOutAreThoseThatAreKnown) {
  capacity::v1::Claim claim;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(machines: "g1" machines: "g2" racks: "r1" racks: "r2" machines_print: "a" nodes: 2
         request_times { seconds: 10 } request_times { seconds: 20 }
         grant_times { seconds: 30 } grant_times { seconds: 40 })",
      &claim));
  KnownClaim known;
  const ClaimFacts whole = FactsOf(claim);
  ClaimFacts facts = whole;
  EXPECT_TRUE(FillIn(claim, known, facts));
  EXPECT_EQ(facts.machines, whole.machines) << "nothing was left out";

  capacity::v1::Claim rest;
  rest.set_machines_unchanged(true);
  rest.set_machines_print("a");
  rest.set_nodes(5);
  facts = FactsOf(rest);
  EXPECT_FALSE(FillIn(rest, known, facts)) << "nothing is known";
  known = {"b", whole};
  EXPECT_FALSE(FillIn(rest, known, facts)) << "something else is known";
  known = {"a", whole};
  EXPECT_TRUE(FillIn(rest, known, facts));
  EXPECT_THAT(facts.machines, ElementsAre("g1", "g2"));
  EXPECT_EQ(facts.racks, whole.racks);
  EXPECT_EQ(facts.request_times, whole.request_times);
  EXPECT_EQ(facts.grant_times, whole.grant_times);
  EXPECT_EQ(facts.nodes, 5) << "all else is the answer's";
}

TEST(PeerWire, WhatMatchesIsToldAlsoOfRepair) {
  capacity::v1::Claim claim;
  claim.set_in_service(3);
  claim.set_matching(1);
  claim.set_matching_in_repair(2);
  const ClaimFacts facts = FactsOf(claim);
  EXPECT_EQ(facts.in_service, 3);
  EXPECT_EQ(facts.matching, 1);
  EXPECT_EQ(facts.matching_in_repair, 2);
}

TEST(PeerWire, WhatIsReclaimedIsTakenFromItsObstacleAlone) {
  capacity::v1::ExplainClaimResponse response;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(obstacles { code: CODE_QUEUED_BEHIND nodes: 99 }
         obstacles {
           code: CODE_BEING_RECLAIMED nodes: 3
           reclaims { machine: "g1" reclaim_time { seconds: 10 } }
           last_reclaim_time { seconds: 20 }
         })",
      &response));
  const ReclaimedFor expected{3, {{"g1", absl::FromUnixSeconds(10)}}, absl::FromUnixSeconds(20)};
  EXPECT_EQ(ReclaimedOf(response), expected);
  EXPECT_EQ(ReclaimedOf({}), ReclaimedFor());
}

TEST(ParseQuotaName, TakesQuotasAndTheirHoldingsApart) {
  const auto quota = ParseQuotaName("organizations/acme/quotas/A-1A~t~spot");
  ASSERT_TRUE(quota.has_value());
  EXPECT_EQ(quota->organization, "acme");
  EXPECT_EQ(quota->zone, "A-1A");
  EXPECT_EQ(quota->instance_type, "t");
  EXPECT_EQ(quota->compute_class, "spot");
  EXPECT_EQ(quota->pool_uid, "");
  const auto holding = ParseQuotaName("organizations/acme/quotas/A-1A~t~spot/holdings/u-1");
  ASSERT_TRUE(holding.has_value());
  EXPECT_EQ(holding->pool_uid, "u-1");
  for (const char* other : {"", "organizations/acme", "organizations/acme/quotas/A-1A~t",
                            "organizations/acme/quotas/A-1A~t~spot/holdings",
                            "organizations/acme/quotas/A-1A~t~spot/x/u-1"}) {
    EXPECT_FALSE(ParseQuotaName(other).has_value()) << other;
  }
}

}  // namespace
}  // namespace muster::lifecycle
