#include "services/quota/core/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/common/testing/compare_indexes.h"
#include "services/quota/core/testing/key.h"

namespace muster::quota {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void Put(State& state, const std::string& uid, int64_t nodes, int64_t generation = 1) {
  auto row = std::make_shared<const Holding>(
      Holding{QuotaName(kKey), uid, nodes, generation, uid, absl::UnixEpoch()});
  state.Apply({row->Key(), row}, 1);
}

// A state whose rows can be changed behind its indexes' back.
struct Broken {
  State state = {};
  std::shared_ptr<Holding> row =
      std::make_shared<Holding>(Holding{QuotaName(kKey), "a", 3, 1, "a", absl::UnixEpoch()});
  Broken() { state.Apply({row->Key(), std::shared_ptr<const Holding>(row)}, 1); }
};

TEST(AuditTest, FindsNothingInBooksThatAreRight) {
  State state;
  EXPECT_THAT(Audit(state), IsEmpty());
  Put(state, "a", 3);
  Put(state, "b", 5);
  Put(state, "a", 7, 2);
  EXPECT_THAT(Audit(state), IsEmpty());
}

TEST(AuditTest, FindsAHoldingThatIsNotCountedRight) {
  Broken broken;
  broken.row->nodes = 4;
  EXPECT_THAT(Audit(broken.state), ElementsAre(HasSubstr("3 counted as held, the holdings are 4"),
                                               HasSubstr("the largest holding is 4")));
}

TEST(AuditTest, FindsAHoldingThatNoGenerationAskedFor) {
  Broken broken;
  broken.row->generation = 0;
  EXPECT_THAT(Audit(broken.state), ElementsAre(HasSubstr("by generation 0")));
}

// A release keeps what its pool holds under other keys, and nothing is charged for it any more.
TEST(AuditTest, FindsAHoldingThatWasChargedAfterItsPoolWasReleased) {
  Broken broken;
  const auto released =
      std::make_shared<const ReleasedPool>(ReleasedPool{"a", 2, absl::UnixEpoch()});
  broken.state.Apply({released->Key(), released}, 2);
  EXPECT_THAT(Audit(broken.state), IsEmpty());
  broken.row->update_time = absl::UnixEpoch() + absl::Seconds(1);
  EXPECT_THAT(Audit(broken.state),
              ElementsAre(HasSubstr("was charged after its pool was released")));
}

// Memory is not what its rows give, or it is.
TEST(AuditTest, FindsAnIndexOfMemoryThatIsWrong) {
  Broken broken;
  Put(broken.state, "b", 1);
  const State tables = Rebuild(broken.state);
  const auto parts = IndexParts(tables);
  EXPECT_THAT(CompareIndexes(parts, broken.state, tables), IsEmpty());
  broken.row->nodes = 4;
  EXPECT_THAT(CompareIndexes(parts, broken.state, Rebuild(broken.state)),
              ElementsAre(HasSubstr("4 counted as held, the holdings are 5"),
                          HasSubstr("the largest holding is 4")));
}

}  // namespace
}  // namespace muster::quota
