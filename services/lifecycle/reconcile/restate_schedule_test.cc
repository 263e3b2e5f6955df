#include "services/lifecycle/reconcile/restate_schedule.h"

#include <gtest/gtest.h>

namespace muster::lifecycle {
namespace {

constexpr absl::Duration kNow = absl::Hours(1);

TEST(RestateSchedule, IsDueOnceItIsAskedForAndUntilItIsDone) {
  RestateSchedule schedule;
  EXPECT_FALSE(schedule.IsDue(kNow, true));
  schedule.Ask();
  EXPECT_TRUE(schedule.IsDue(kNow, false));
  schedule.Done();
  EXPECT_FALSE(schedule.IsDue(kNow, true));
}

TEST(RestateSchedule, WhileQuotaIsAwayItComesEverMoreSeldom) {
  RestateSchedule schedule;
  schedule.Ask();
  schedule.Failed(kNow);
  EXPECT_FALSE(schedule.IsDue(kNow, false));
  EXPECT_TRUE(schedule.IsDue(kNow + RestateSchedule::kFirstPause, false));
  for (int i = 0; i < 20; ++i) schedule.Failed(kNow);
  EXPECT_FALSE(schedule.IsDue(kNow + RestateSchedule::kLongestPause / 3, false));
  EXPECT_TRUE(schedule.IsDue(kNow + RestateSchedule::kLongestPause, false));
  // Every attempt to watch quota asks for it again.
  schedule.Failed(kNow);
  schedule.Ask();
  EXPECT_FALSE(schedule.IsDue(kNow + RestateSchedule::kLongestPause / 3, false));
  // Once it was done: at once, and the pauses begin anew.
  schedule.Done();
  schedule.Ask();
  EXPECT_TRUE(schedule.IsDue(kNow, false));
  schedule.Failed(kNow);
  EXPECT_TRUE(schedule.IsDue(kNow + RestateSchedule::kFirstPause, false));
}

TEST(RestateSchedule, NothingElseIsAskedBeforeIt) {
  RestateSchedule schedule;
  schedule.Ask();
  for (int i = 0; i < 20; ++i) schedule.Failed(kNow);
  EXPECT_TRUE(schedule.IsDue(kNow, true));
}

}  // namespace
}  // namespace muster::lifecycle
