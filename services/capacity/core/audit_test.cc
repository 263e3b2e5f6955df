#include "services/capacity/core/audit.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/capacity/core/limits.h"
#include "services/capacity/core/parts.h"
#include "services/capacity/core/testing/world.h"

namespace muster::capacity {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(AuditTest, FindsAClaimOfTooManyParts) {
  World world;
  ClaimRow claim{.pool_uid = "p", .generation = 1, .zone = World::kZone};
  claim.instance_type = World::kType;
  const auto add_part = [&] {
    AddPart(claim.parts, world.now() + absl::Minutes(++claim.nodes), 1);
    world.Change([&](StagedState<State>& staged) { staged.Put(claim); });
  };
  while (claim.parts.size() < kMaxParts) add_part();
  EXPECT_THAT(Audit(world.state()), IsEmpty());
  add_part();
  EXPECT_THAT(Audit(world.state()), ElementsAre(HasSubstr("p has 65 parts, more than 64")));
}

}  // namespace
}  // namespace muster::capacity
