// Self-audits, on books that somebody broke by hand.
#include <chrono>
#include <thread>

#include "services/quota/testing/service_test_base.h"

namespace muster::quota {
namespace {

using ::muster::testing::IsOk;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class QuotaAuditTest : public QuotaServiceTest {
 protected:
  QuotaAuditTest() {
    EXPECT_THAT(SetLimit(10), IsOk());
    EXPECT_THAT(Sync(Holding("a", 3)), IsOk());
    EXPECT_THAT(Sync(Holding("b", 4)), IsOk());
  }
  v1::AuditQuotasResponse Audit() {
    return Call(&Stub::AuditQuotas, v1::AuditQuotasRequest()).value();
  }
  int64_t violations() { return service_->auditor().stats().violations; }
};

TEST_F(QuotaAuditTest, FindsNothingInBooksThatAreRight) {
  const auto audit = Audit();
  EXPECT_THAT(audit.violations(), IsEmpty());
  EXPECT_EQ(audit.resources(), 3);
  EXPECT_EQ(audit.revision(), 3);
  EXPECT_EQ(violations(), 0);
}

TEST_F(QuotaAuditTest, FindsAHoldingThatSomebodyChangedInTheTables) {
  database_.Execute("UPDATE quota.holding SET nodes = 9 WHERE pool_uid = 'a'");
  const auto audit = Audit();
  EXPECT_THAT(audit.violations(), Contains(HasSubstr("/holdings/a")));
  EXPECT_EQ(violations(), audit.violations_size());
  EXPECT_GT(violations(), 0);
  database_.Execute("UPDATE quota.holding SET nodes = 3 WHERE pool_uid = 'a'");
  EXPECT_THAT(Audit().violations(), IsEmpty());
}

TEST_F(QuotaAuditTest, FindsAHoldingThatSomebodyDeletedInTheTables) {
  database_.Execute("DELETE FROM quota.holding WHERE pool_uid = 'a'");
  EXPECT_THAT(Audit().violations(), Contains(HasSubstr("is missing in the other")));
  database_.Execute(
      "INSERT INTO quota.holding SELECT replace(name, '/b', '/a'), quota_name, 'a', 3, 1, '', "
      "update_time, 2 FROM quota.holding");
  EXPECT_THAT(Audit().violations(), IsEmpty());
}

TEST_F(QuotaAuditTest, AuditsBesideWritesThatGoOn) {
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int64_t generation = 2; !stop; ++generation)
      EXPECT_THAT(Sync(Holding("a", generation % 5, generation)), IsOk());
  });
  for (int i = 0; i < 20; ++i) EXPECT_THAT(Audit().violations(), IsEmpty());
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace muster::quota
