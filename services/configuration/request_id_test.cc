#include "services/configuration/testing/service_test_base.h"
#include "tests/testing/once.h"

// A mutation that bears an id is carried out once.
namespace muster::configuration {
namespace {

using ConfigurationRequestIdTest = testing::OnceTest<ConfigurationServiceTest>;

TEST_F(ConfigurationRequestIdTest, Releases) {
  const std::string name = "channels/latest/components/gpu-driver/releases/580.1";
  v1::PublishReleaseRequest publish;
  publish.mutable_release()->set_name(name);
  ExpectOnce(&Stub::PublishRelease, publish, "publish", false);
  v1::WithdrawReleaseRequest withdraw;
  withdraw.set_name(name);
  ExpectOnce(&Stub::WithdrawRelease, withdraw, "withdraw", false);
  // What comes late does not bring it back.
  publish.set_request_id("publish");
  const auto told = Call(&Stub::PublishRelease, publish);
  ASSERT_THAT(told, IsOk());
  EXPECT_FALSE(told->has_withdraw_time());
  v1::GetReleaseRequest get;
  get.set_name(name);
  EXPECT_TRUE(Call(&Stub::GetRelease, get)->has_withdraw_time());
}

TEST_F(ConfigurationRequestIdTest, OrdersAndTheirRefusals) {
  PublishBasics();
  const auto pool = Sync(Request("p"));
  ASSERT_THAT(pool, IsOk());
  ExpectOnce(&Stub::EnableRevision, For<v1::EnableRevisionRequest>("p", pool->active()), "enable",
             false);
  auto promote = For<v1::PromoteConfigurationRequest>("p");
  promote.set_request_id("promote");
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Call(&Stub::PromoteConfiguration, promote), HasReason("NO_PENDING_CONFIGURATION"));
    EXPECT_EQ(GetPool("p")->orders_size(), 1);
  }
  auto rollback = For<v1::RollbackConfigurationRequest>("p");
  rollback.set_request_id("rollback");
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Call(&Stub::RollbackConfiguration, rollback), HasReason("ROLLBACK_FAILED"));
    EXPECT_EQ(GetPool("p")->orders_size(), 2);
  }
  rollback.set_request_id("promote");
  EXPECT_THAT(Call(&Stub::RollbackConfiguration, rollback), HasReason("REQUEST_ID_REUSED"));
}

}  // namespace
}  // namespace muster::configuration
