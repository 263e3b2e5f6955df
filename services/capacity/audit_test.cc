// Self-audits, on books that somebody broke by hand.
#include "services/capacity/testing/service_test_base.h"

namespace muster::capacity {
namespace {

using ::muster::testing::IsOk;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CapacityAuditTest : public CapacityServiceTest {
 protected:
  CapacityAuditTest() {
    AddCatalogue();
    EXPECT_THAT(Call(&Stub::BatchRegisterMachines, Machines({"m1", "m2", "m3"})), IsOk());
    EXPECT_THAT(Call(&Stub::SyncClaim, Claim("p", 2)), IsOk());
  }
  v1::AuditCapacityResponse Audit() {
    return Call(&Stub::AuditCapacity, v1::AuditCapacityRequest()).value();
  }
  int64_t violations() { return service_->auditor().stats().violations; }
};

TEST_F(CapacityAuditTest, FindsNothingInBooksThatAreRight) {
  const auto audit = Audit();
  EXPECT_THAT(audit.violations(), IsEmpty());
  EXPECT_EQ(audit.resources(), 6);
  EXPECT_GT(audit.revision(), 0);
  EXPECT_EQ(violations(), 0);
  EXPECT_EQ(service_->auditor().stats().audits, 1);
}

TEST_F(CapacityAuditTest, FindsAMachineThatSomebodyGaveToAnotherClaim) {
  database_.Execute("UPDATE capacity.machine SET claim = 'q' WHERE id = 'm1'");
  const auto audit = Audit();
  EXPECT_THAT(audit.violations(), Contains(HasSubstr("machines/m1")));
  EXPECT_EQ(violations(), audit.violations_size());
  database_.Execute("UPDATE capacity.machine SET claim = 'p' WHERE id = 'm1'");
  EXPECT_THAT(Audit().violations(), IsEmpty());
}

TEST_F(CapacityAuditTest, FindsAMachineThatSomebodyForgot) {
  database_.Execute("CREATE TABLE kept AS SELECT * FROM capacity.machine WHERE id = 'm3'");
  database_.Execute("DELETE FROM capacity.machine WHERE id = 'm3'");
  EXPECT_THAT(Audit().violations(), Contains(HasSubstr("is missing in the other")));
  database_.Execute("INSERT INTO capacity.machine SELECT * FROM kept");
  EXPECT_THAT(Audit().violations(), IsEmpty());
}

}  // namespace
}  // namespace muster::capacity
