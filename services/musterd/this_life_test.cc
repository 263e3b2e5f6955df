#include "services/musterd/this_life.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tests/testing/status_matchers.h"

namespace muster::musterd {
namespace {

using ::muster::testing::IsOkAndHolds;
using ::muster::testing::StatusIs;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Two lives: 1, 2, gone at 4; then 6, 7, 9. Two changes a page.
storage::ChangeLog Page(int64_t newest) {
  const std::pair<int64_t, int64_t> all[] = {{9, 7}, {7, 6}, {6, 0}, {4, 2}, {2, 1}, {1, 0}};
  storage::ChangeLog log;
  for (const auto& [revision, previous] : all) {
    if (newest != 0 && revision > newest) continue;
    if (log.changes.size() == 2) {
      log.next = revision;
      return log;
    }
    log.changes.push_back({.revision = revision, .previous = previous});
  }
  return log;
}

TEST(ThisLife, EndsWithItsCreation) {
  storage::ChangeLog log = Page(7);
  CutAtCreation(log);
  EXPECT_THAT(log.changes, SizeIs(2));
  EXPECT_EQ(log.next, 0) << "what comes next is another's";
  log = Page(6);
  CutAtCreation(log);
  EXPECT_THAT(log.changes, SizeIs(1));
  log = Page(9);
  CutAtCreation(log);
  EXPECT_THAT(log.changes, SizeIs(2));
  EXPECT_EQ(log.next, 6);
  log = {};
  CutAtCreation(log);
  EXPECT_THAT(log.changes, IsEmpty());
}

TEST(ThisLife, HasTheRevisionsSinceIt) {
  const auto list = [](int64_t newest) -> absl::StatusOr<storage::ChangeLog> {
    return Page(newest);
  };
  for (const int64_t revision : {9, 7, 6})
    EXPECT_THAT(LifeOf(revision, list), IsOkAndHolds(Life::kThis));
  for (const int64_t revision : {1, 2, 4, 5, 8, 10})
    EXPECT_THAT(LifeOf(revision, list), IsOkAndHolds(Life::kOther)) << revision;
  EXPECT_THAT(LifeOf(9, [](int64_t) { return absl::UnavailableError("away"); }),
              StatusIs(absl::StatusCode::kUnavailable));
}

// Compacted between two pages.
TEST(ThisLife, MayBeOlderThanTheJournal) {
  const auto list = [](int64_t newest) -> absl::StatusOr<storage::ChangeLog> {
    storage::ChangeLog log = Page(newest);
    std::erase_if(log.changes, [](const auto& change) { return change.revision < 7; });
    if (log.next < 7) log.next = 0;
    return log;
  };
  for (const int64_t revision : {9, 7})
    EXPECT_THAT(LifeOf(revision, list), IsOkAndHolds(Life::kThis));
  for (const int64_t revision : {6, 4})
    EXPECT_THAT(LifeOf(revision, list), IsOkAndHolds(Life::kForgotten)) << revision;
  for (const int64_t revision : {8, 10})
    EXPECT_THAT(LifeOf(revision, list), IsOkAndHolds(Life::kOther)) << revision;
  const auto nothing = [](int64_t) { return storage::ChangeLog(); };
  EXPECT_THAT(LifeOf(9, nothing), IsOkAndHolds(Life::kForgotten)) << "memory alone has it";
}

}  // namespace
}  // namespace muster::musterd
