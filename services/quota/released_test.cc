#include "services/quota/testing/service_test_base.h"

namespace muster::quota {
namespace {

using ::muster::testing::HasReason;
using ::muster::testing::IsOk;

TEST_F(QuotaServiceTest, AReleasedUidIsRefusedForAsLongAsAnOperatorSays) {
  Stop();
  Start({.released_keep = absl::Hours(1)});
  const auto release = [&](const char* uid) {
    v1::HoldingRequest request = Holding(uid, 0);
    request.set_release(true);
    EXPECT_THAT(Sync(request), IsOk());
  };
  release("p");
  EXPECT_THAT(Sync(Holding("p", 0)), HasReason("POOL_RELEASED"));
  clock_.Advance(absl::Hours(1));
  release("q");
  EXPECT_THAT(Sync(Holding("p", 0)), IsOk());
}

}  // namespace
}  // namespace muster::quota
