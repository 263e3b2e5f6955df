#include "services/configuration/testing/service_test_base.h"
#include "tests/testing/proto_matchers.h"

// Promotions, rollbacks, the breaker and what waits, through the API.
namespace muster::configuration {
namespace {

using ::muster::testing::EqualsProto;

constexpr char kOlder[] = "channels/stable/components/gpu-driver/releases/570.86.15";
constexpr char kNewer[] = "channels/stable/components/gpu-driver/releases/570.124.06";
constexpr char kUnknown[] = "np-000000000000";

class ConfigurationOrdersTest : public ConfigurationServiceTest {
 protected:
  // A pool that boots old_ and has new_ pending.
  void SetUp() override {
    PublishBasics();
    const auto pool = Sync(Pool());
    ASSERT_THAT(pool, IsOk());
    old_ = pool->active();
    ASSERT_THAT(Publish(kNewer), IsOk());
    const auto pending = AwaitPool("p", [](const auto& p) { return p.has_pending(); });
    ASSERT_THAT(pending, IsOk());
    new_ = pending->pending().node_profile();
  }
  static v1::ConfigurationRequest Pool(int64_t nodes_in_delivery = 0) {
    v1::ConfigurationRequest request = Request("p");
    request.mutable_spec()->set_strategy(v1::ConfigurationSpec::STRATEGY_MANUAL);
    request.set_nodes_in_delivery(nodes_in_delivery);
    return request;
  }
  absl::StatusOr<v1::PoolConfiguration> Fail(const std::string& profile, int64_t enable_count,
                                             int machines) {
    v1::ConfigurationRequest request = Pool();
    request.mutable_boot_failures()->set_node_profile(profile);
    request.mutable_boot_failures()->set_enable_count(enable_count);
    for (int i = 0; i < machines; ++i) {
      request.mutable_boot_failures()->add_machines(absl::StrCat("g", i));
    }
    return Sync(request);
  }
  v1::ConfigurationOrder LastOrder() {
    const auto pool = GetPool("p");
    EXPECT_THAT(pool, IsOk());
    return pool.ok() && pool->orders_size() > 0 ? *pool->orders().rbegin()
                                                : v1::ConfigurationOrder();
  }

  std::string old_;
  std::string new_;
};

TEST_F(ConfigurationOrdersTest, PromoteThenRollback) {
  auto pool = Promote("p");
  ASSERT_THAT(pool, IsOk());
  EXPECT_EQ(pool->active(), new_);
  EXPECT_FALSE(pool->has_pending());
  EXPECT_EQ(LastOrder().requested(), "pending");
  EXPECT_EQ(LastOrder().outcome(), v1::ConfigurationOrder::OUTCOME_DONE);

  pool = Rollback("p", "previous");
  ASSERT_THAT(pool, IsOk());
  EXPECT_EQ(pool->active(), old_);
  ASSERT_EQ(pool->pinned_size(), 1);
  EXPECT_EQ(pool->pinned(0), new_);
  EXPECT_EQ(pool->pending().node_profile(), new_);
  EXPECT_EQ(LastOrder().number(), 2);

  // Not even Always stages it, until something newer appears.
  v1::ConfigurationRequest always = Pool();
  always.set_generation(2);
  always.mutable_spec()->set_strategy(v1::ConfigurationSpec::STRATEGY_ALWAYS);
  pool = Sync(always);
  ASSERT_THAT(pool, IsOk());
  EXPECT_EQ(pool->active(), old_);
  ASSERT_THAT(Publish("channels/stable/components/gpu-driver/releases/580.1"), IsOk());
  pool = AwaitPool("p", [&](const auto& p) { return p.active() != old_; });
  ASSERT_THAT(pool, IsOk());
  EXPECT_NE(pool->active(), new_);
  EXPECT_EQ(pool->pinned_size(), 0);
}

TEST_F(ConfigurationOrdersTest, ARefusedOrderIsRemembered) {
  EXPECT_THAT(Promote("p", old_), AllOf(StatusIs(absl::StatusCode::kFailedPrecondition),
                                        HasReason("NO_PENDING_CONFIGURATION")));
  EXPECT_EQ(LastOrder().outcome(), v1::ConfigurationOrder::OUTCOME_NO_PENDING);
  EXPECT_EQ(LastOrder().requested(), old_);
  for (const std::string& to : {std::string("previous"), old_, std::string(kUnknown)}) {
    EXPECT_THAT(Rollback("p", to), AllOf(StatusIs(absl::StatusCode::kFailedPrecondition),
                                         HasReason("ROLLBACK_FAILED")));
    EXPECT_EQ(LastOrder().outcome(), v1::ConfigurationOrder::OUTCOME_ROLLBACK_FAILED);
    EXPECT_EQ(LastOrder().requested(), to);
  }
  EXPECT_EQ(LastOrder().number(), 4);
}

TEST_F(ConfigurationOrdersTest, WaitsForDeliveryAcrossARestart) {
  ASSERT_THAT(Sync(Pool(2)), IsOk());
  auto pool = Promote("p", new_);
  ASSERT_THAT(pool, IsOk());
  EXPECT_EQ(pool->active(), old_);
  EXPECT_EQ(pool->waiting().node_profile(), new_);
  EXPECT_EQ(LastOrder().outcome(), v1::ConfigurationOrder::OUTCOME_WAITING);
  // The same again writes nothing.
  const int64_t revision = service_->lane().revision();
  ASSERT_THAT(Promote("p", new_), IsOk());
  ASSERT_THAT(Promote("p"), IsOk());
  EXPECT_EQ(service_->lane().revision(), revision);
  Stop();
  Start();
  const auto again = GetPool("p");
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(Unrevised(*again), EqualsProto(Unrevised(*pool)));
  ASSERT_THAT(Sync(Pool(1)), IsOk());
  EXPECT_EQ(GetPool("p")->active(), old_);
  ASSERT_THAT(Sync(Pool(0)), IsOk());
  EXPECT_EQ(GetPool("p")->active(), new_);
  EXPECT_FALSE(GetPool("p")->has_waiting());
  EXPECT_EQ(LastOrder().outcome(), v1::ConfigurationOrder::OUTCOME_DONE);
  EXPECT_EQ(LastOrder().number(), 1);
}

TEST_F(ConfigurationOrdersTest, BothKindsAtOnceDropBoth) {
  ASSERT_THAT(Promote("p"), IsOk());
  ASSERT_THAT(Sync(Pool(1)), IsOk());
  ASSERT_THAT(Rollback("p"), IsOk());
  EXPECT_THAT(Promote("p"), AllOf(StatusIs(absl::StatusCode::kFailedPrecondition),
                                  HasReason("CONFIGURATION_CONFLICT")));
  const auto pool = GetPool("p");
  ASSERT_THAT(pool, IsOk());
  EXPECT_EQ(pool->active(), new_);
  EXPECT_FALSE(pool->has_waiting());
  ASSERT_EQ(pool->orders_size(), 3);
  EXPECT_EQ(pool->orders(1).outcome(), v1::ConfigurationOrder::OUTCOME_CONFLICT);
  EXPECT_EQ(pool->orders(2).outcome(), v1::ConfigurationOrder::OUTCOME_CONFLICT);
}

TEST_F(ConfigurationOrdersTest, OneRequestMayAskForBothAndTheOneThatWaitsIsDroppedToo) {
  ASSERT_THAT(Sync(Pool(1)), IsOk());
  ASSERT_THAT(Promote("p"), IsOk());
  ASSERT_EQ(GetPool("p")->waiting().node_profile(), new_);
  auto both = For<v1::PromoteConfigurationRequest>("p");
  both.set_rollback("latest");
  EXPECT_THAT(Call(&Stub::PromoteConfiguration, both), HasFieldViolation("rollback"));
  both.set_rollback("previous");
  EXPECT_THAT(
      Call(&Stub::PromoteConfiguration, both),
      AllOf(StatusIs(absl::StatusCode::kFailedPrecondition), HasReason("CONFIGURATION_CONFLICT")));
  const auto pool = GetPool("p");
  ASSERT_THAT(pool, IsOk());
  EXPECT_EQ(pool->active(), old_);
  EXPECT_FALSE(pool->has_waiting());
  ASSERT_EQ(pool->orders_size(), 2);
  for (const auto& order : pool->orders())
    EXPECT_EQ(order.outcome(), v1::ConfigurationOrder::OUTCOME_CONFLICT);
}

TEST_F(ConfigurationOrdersTest, BootFailuresDisableUntilEnabled) {
  ASSERT_THAT(Promote("p"), IsOk());
  auto pool = Fail(new_, 0, 2);
  ASSERT_THAT(pool, IsOk());
  EXPECT_FALSE(pool->revisions(1).disabled());
  pool = Fail(new_, 0, 3);
  ASSERT_THAT(pool, IsOk());
  EXPECT_TRUE(pool->revisions(1).disabled());
  EXPECT_EQ(pool->active(), new_);
  ASSERT_THAT(Rollback("p"), IsOk());
  for (const std::string& to : {std::string("previous"), new_}) {
    EXPECT_THAT(Rollback("p", to), HasReason("ROLLBACK_FAILED"));
  }
  EXPECT_THAT(Promote("p"), HasReason("NO_PENDING_CONFIGURATION"));

  pool = Enable("p", new_);
  ASSERT_THAT(pool, IsOk());
  EXPECT_FALSE(pool->revisions(0).disabled());
  EXPECT_EQ(pool->revisions(0).enable_count(), 1);
  const int64_t revision = service_->lane().revision();
  ASSERT_THAT(Enable("p", new_), IsOk());
  // Old news.
  ASSERT_THAT(Fail(new_, 0, 3), IsOk());
  EXPECT_EQ(service_->lane().revision(), revision);
  ASSERT_THAT(Promote("p"), IsOk());
  pool = Fail(new_, 1, 3);
  ASSERT_THAT(pool, IsOk());
  EXPECT_TRUE(pool->revisions(1).disabled());
}

TEST_F(ConfigurationOrdersTest, ValidateOnlyWritesNothing) {
  const int64_t revision = service_->lane().revision();
  auto promote = For<v1::PromoteConfigurationRequest>("p");
  promote.set_validate_only(true);
  const auto promoted = Call(&Stub::PromoteConfiguration, promote);
  ASSERT_THAT(promoted, IsOk());
  EXPECT_EQ(promoted->active(), new_);
  auto rollback = For<v1::RollbackConfigurationRequest>("p");
  rollback.set_validate_only(true);
  EXPECT_THAT(Call(&Stub::RollbackConfiguration, rollback), HasReason("ROLLBACK_FAILED"));
  auto enable = For<v1::EnableRevisionRequest>("p", old_);
  enable.set_validate_only(true);
  EXPECT_THAT(Call(&Stub::EnableRevision, enable), IsOk());
  v1::SyncPoolConfigurationRequest sync;
  sync.set_validate_only(true);
  *sync.mutable_configuration() = Pool();
  sync.mutable_configuration()->mutable_spec()->set_strategy(
      v1::ConfigurationSpec::STRATEGY_ALWAYS);
  const auto synced = Call(&Stub::SyncPoolConfiguration, sync);
  ASSERT_THAT(synced, IsOk());
  EXPECT_EQ(synced->active(), new_);
  v1::BatchSyncPoolConfigurationsRequest batch;
  batch.set_validate_only(true);
  *batch.add_configurations() = Request("q");
  const auto answers = Call(&Stub::BatchSyncPoolConfigurations, batch);
  ASSERT_THAT(answers, IsOk());
  EXPECT_EQ(answers->results(0).configuration().active(), new_);
  v1::PublishReleaseRequest publish;
  publish.set_validate_only(true);
  publish.mutable_release()->set_name("channels/stable/components/gpu-driver/releases/999");
  EXPECT_THAT(Call(&Stub::PublishRelease, publish), IsOk());
  v1::WithdrawReleaseRequest withdraw;
  withdraw.set_validate_only(true);
  withdraw.set_name(kNewer);
  const auto withdrawn = Call(&Stub::WithdrawRelease, withdraw);
  ASSERT_THAT(withdrawn, IsOk());
  EXPECT_TRUE(withdrawn->has_withdraw_time());
  EXPECT_EQ(service_->lane().revision(), revision);
}

TEST_F(ConfigurationOrdersTest, WithdrawnAndPublishedAgain) {
  EXPECT_THAT(Withdraw("channels/latest/components/gpu-driver/releases/1"),
              AllOf(StatusIs(absl::StatusCode::kNotFound), HasReason("NOT_FOUND")));
  const auto withdrawn = Withdraw(kNewer);
  ASSERT_THAT(withdrawn, IsOk());
  EXPECT_TRUE(withdrawn->has_withdraw_time());
  ASSERT_THAT(AwaitPool("p", [](const auto& p) { return !p.has_pending(); }), IsOk());
  clock_.Advance(absl::Hours(1));
  const auto again = Withdraw(kNewer);
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(Unrevised(*again), EqualsProto(Unrevised(*withdrawn)));
  const auto published = Publish(kNewer);
  ASSERT_THAT(published, IsOk());
  EXPECT_FALSE(published->has_withdraw_time());
  EXPECT_THAT(published->create_time(), EqualsProto(withdrawn->create_time()));
  ASSERT_THAT(AwaitPool("p", [](const auto& p) { return p.has_pending(); }), IsOk());
  // Nothing fits any more: a problem, and what is active stays.
  ASSERT_THAT(Withdraw(kNewer), IsOk());
  ASSERT_THAT(Withdraw(kOlder), IsOk());
  const auto pool = AwaitPool("p", [](const auto& p) { return !p.problem().empty(); });
  ASSERT_THAT(pool, IsOk());
  EXPECT_EQ(pool->active(), old_);
}

TEST_F(ConfigurationOrdersTest, WhatDoesNotExistIsNotFound) {
  const auto missing = AllOf(StatusIs(absl::StatusCode::kNotFound), HasReason("NOT_FOUND"));
  EXPECT_THAT(Promote("gone"), missing);
  EXPECT_THAT(Rollback("gone"), missing);
  EXPECT_THAT(Enable("gone", old_), missing);
  EXPECT_THAT(Enable("p", kUnknown), missing);
}

}  // namespace
}  // namespace muster::configuration
