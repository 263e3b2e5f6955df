#include "services/configuration/wire/configuration_wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "services/configuration/core/names.h"
#include "tests/testing/proto_matchers.h"
#include "tests/testing/status_matchers.h"

namespace muster::configuration {
namespace {

using ::muster::testing::EqualsProto;
using ::muster::testing::IsOkAndHolds;
using ::muster::testing::StatusIs;

const absl::Time kTime = absl::FromUnixMicros(1'750'000'000'123'456);

PoolConfiguration FullPool() {
  return {.pool_uid = "p-1",
          .generation = 7,
          .spec = {.image_name = "mine",
                   .image_kernel = "6.5",
                   .release_train = Channel::kLatest,
                   .gpu_version = "570",
                   .gpu = true,
                   .kubernetes = "1.33",
                   .strategy = Strategy::kAlways},
          .pending = {"np-3", kTime + absl::Hours(2), {"Kubernetes 1.33 → 1.34"}},
          .revisions = {{"np-1", kTime, {"a", "b"}, true, 2}, {"np-2", kTime + absl::Hours(1), {}}},
          .waiting = {"np-4", kTime, {"c"}},
          .pinned = {"np-1", "np-9"},
          .orders = {{.number = 4,
                      .kind = OrderKind::kRollback,
                      .requested = "previous",
                      .outcome = OrderOutcome::kRollbackFailed,
                      .message = "No.",
                      .create_time = kTime},
                     {.number = 5,
                      .kind = OrderKind::kPromote,
                      .requested = "pending",
                      .node_profile = "np-4",
                      .outcome = OrderOutcome::kWaiting,
                      .create_time = kTime}},
          .mid_delivery = true,
          .spec_unmet = true,
          .problem_of_spec = true,
          .pool = "organizations/acme/clusters/c1/nodePools/train"};
}

TEST(WireTest, PoolConfiguration) {
  EXPECT_THAT(ToProto(FullPool()), EqualsProto(R"pb(
                name: "poolConfigurations/p-1"
                generation: 7
                spec {
                  image_name: "mine"
                  image_kernel: "6.5"
                  release_train: "latest"
                  gpu_version: "570"
                  gpu: true
                  kubernetes: "1.33"
                  strategy: STRATEGY_ALWAYS
                }
                active: "np-2"
                pending {
                  node_profile: "np-3"
                  create_time { seconds: 1750007200 nanos: 123456000 }
                  summary: "Kubernetes 1.33 → 1.34"
                }
                revisions {
                  node_profile: "np-1"
                  create_time { seconds: 1750000000 nanos: 123456000 }
                  summary: "a"
                  summary: "b"
                  disabled: true
                  enable_count: 2
                }
                revisions {
                  node_profile: "np-2"
                  create_time { seconds: 1750003600 nanos: 123456000 }
                }
                waiting {
                  node_profile: "np-4"
                  create_time { seconds: 1750000000 nanos: 123456000 }
                  summary: "c"
                }
                pinned: "np-1"
                pinned: "np-9"
                orders {
                  number: 4
                  kind: KIND_ROLLBACK
                  requested: "previous"
                  outcome: OUTCOME_ROLLBACK_FAILED
                  message: "No."
                  create_time { seconds: 1750000000 nanos: 123456000 }
                }
                orders {
                  number: 5
                  kind: KIND_PROMOTE
                  requested: "pending"
                  node_profile: "np-4"
                  outcome: OUTCOME_WAITING
                  create_time { seconds: 1750000000 nanos: 123456000 }
                }
                mid_delivery: true
                spec_unmet: true
                problem_of_spec: true
                pool: "organizations/acme/clusters/c1/nodePools/train"
              )pb"));
}

TEST(WireTest, RowsGoBothWays) {
  PoolConfiguration problem = {.pool_uid = "p", .generation = 1, .problem = "No release."};
  for (const PoolConfiguration& row : {FullPool(), problem, PoolConfiguration{.pool_uid = "q"}}) {
    EXPECT_THAT(FromProto(ToProto(row)), IsOkAndHolds(row));
  }
  for (const Strategy strategy : {Strategy::kManual, Strategy::kOnSpecUpdate, Strategy::kAlways}) {
    problem.spec.strategy = strategy;
    EXPECT_THAT(FromProto(ToProto(problem)), IsOkAndHolds(problem));
  }
  Release release = {Channel::kLatest, Component::kNcoreImage, "2.10.1", kTime};
  EXPECT_THAT(FromProto(ToProto(release)), IsOkAndHolds(release));
  release.withdraw_time = kTime + absl::Hours(1);
  EXPECT_THAT(FromProto(ToProto(release)), IsOkAndHolds(release));
  const NodeProfile profile = {"np-0123456789ab", "2.10.1", "6.5",
                               Channel::kLatest,  "570.1",  "1.33"};
  EXPECT_THAT(FromProto(ToProto(profile)), IsOkAndHolds(profile));
}

TEST(WireTest, OrdersGoBothWays) {
  PoolConfiguration pool = {.pool_uid = "p"};
  const OrderOutcome outcomes[] = {OrderOutcome::kWaiting,   OrderOutcome::kDone,
                                   OrderOutcome::kNoPending, OrderOutcome::kRollbackFailed,
                                   OrderOutcome::kConflict,  OrderOutcome::kReplaced};
  for (const OrderOutcome outcome : outcomes) {
    for (const OrderKind kind : {OrderKind::kPromote, OrderKind::kRollback}) {
      pool.orders = {{.number = 1, .kind = kind, .requested = "x", .outcome = outcome}};
      const v1::PoolConfiguration message = ToProto(pool);
      EXPECT_EQ(v1::ConfigurationOrder::Kind_Name(message.orders(0).kind()),
                absl::StrCat("KIND_", Print(kind)));
      EXPECT_EQ(v1::ConfigurationOrder::Outcome_Name(message.orders(0).outcome()),
                absl::StrCat("OUTCOME_", Print(outcome)));
      EXPECT_THAT(FromProto(message), IsOkAndHolds(pool));
    }
  }
}

TEST(WireTest, WhatIsNotOursIsInternal) {
  const auto internal = StatusIs(absl::StatusCode::kInternal);
  EXPECT_THAT(FromProto(v1::Release()), internal);
  EXPECT_THAT(FromProto(v1::NodeProfile()), internal);
  EXPECT_THAT(FromProto(v1::PoolConfiguration()), internal);
  v1::PoolConfiguration pool = ToProto(FullPool());
  pool.set_active("np-1");
  EXPECT_THAT(FromProto(pool), internal);
  pool = ToProto(FullPool());
  pool.mutable_orders(0)->clear_kind();
  EXPECT_THAT(FromProto(pool), internal);
  pool = ToProto(FullPool());
  pool.mutable_orders(1)->clear_outcome();
  EXPECT_THAT(FromProto(pool), internal);
}

v1::ConfigurationRequest Good() {
  v1::ConfigurationRequest request;
  request.set_pool_uid("p-1");
  request.set_generation(3);
  request.mutable_spec()->set_gpu(true);
  return request;
}

SyncPool Parse(const v1::ConfigurationRequest& request, std::vector<std::string> fields = {}) {
  error::Faults found;
  SyncPool command = FromProto(request, "configuration", found);
  const std::vector<error::FieldViolation>& faults = found.named();
  EXPECT_EQ(faults.size(), fields.size());
  for (size_t i = 0; i < faults.size() && i < fields.size(); ++i) {
    EXPECT_EQ(faults[i].field, fields[i]);
  }
  return command;
}

TEST(RequestTest, WhatIsNotSaidHasItsDefault) {
  const SyncPool command = Parse(Good());
  EXPECT_EQ(command.pool_uid, "p-1");
  EXPECT_EQ(command.generation, 3);
  EXPECT_EQ(command.spec, (Spec{.gpu = true}));
  EXPECT_FALSE(command.release);
}

TEST(RequestTest, EveryFieldIsRead) {
  v1::ConfigurationRequest request = Good();
  *request.mutable_spec() = ToProto(FullPool()).spec();
  EXPECT_EQ(Parse(request).spec, FullPool().spec);
}

TEST(RequestTest, DeliveryAndFailuresAreRead) {
  EXPECT_EQ(Parse(Good()).nodes_in_delivery, 0);
  EXPECT_FALSE(Parse(Good()).boot_failures.has_value());
  v1::ConfigurationRequest request = Good();
  request.set_nodes_in_delivery(3);
  request.mutable_boot_failures()->set_node_profile("np-1");
  request.mutable_boot_failures()->set_enable_count(2);
  request.mutable_boot_failures()->add_machines("g1");
  request.mutable_boot_failures()->add_machines("g2");
  const SyncPool command = Parse(request);
  EXPECT_EQ(command.nodes_in_delivery, 3);
  ASSERT_TRUE(command.boot_failures.has_value());
  EXPECT_EQ(command.boot_failures->node_profile, "np-1");
  EXPECT_EQ(command.boot_failures->enable_count, 2);
  EXPECT_EQ(command.boot_failures->machines, (std::vector<std::string>{"g1", "g2"}));
}

TEST(RequestTest, ReleaseNeedsNoSpec) {
  v1::ConfigurationRequest request = Good();
  request.set_release(true);
  request.mutable_spec()->set_release_train("what?");
  EXPECT_TRUE(Parse(request).release);
  EXPECT_EQ(Parse(request).spec, Spec());
}

TEST(RequestTest, NamesWhatHasNoPlace) {
  v1::ConfigurationRequest request = Good();
  request.clear_spec();
  Parse(request, {"configuration.spec"});
  request.mutable_spec()->set_release_train("Stable");
  request.mutable_spec()->set_strategy(static_cast<v1::ConfigurationSpec::Strategy>(9));
  Parse(request, {"configuration.spec.release_train", "configuration.spec.strategy"});
}

}  // namespace
}  // namespace muster::configuration
