#include "services/lifecycle/core/events.h"

#include <gtest/gtest.h>

#include <string>

#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/state.h"

namespace muster::lifecycle {
namespace {

constexpr char kPool[] = "organizations/acme/clusters/c1/nodePools/train";

TEST(Events, EqualOnesAreCounted) {
  State state;
  StagedState<State> staged(state, 0);
  EventLog log(staged, absl::FromUnixSeconds(1));
  log.Emit("uid-1", kPool, "CWOverQuota", "m");
  log.Emit("uid-1", kPool, "CWOverQuota", "m");
  log.Emit("uid-1", kPool, "CWNodeAssigned", "m");
  ASSERT_EQ(state.table<Event>().size(), 2U);
  const Event& counted = *state.table<Event>().Find(
      EventName(ClusterNameOf(kPool), EventId("uid-1", kPool, "CWOverQuota", "m")));
  EXPECT_EQ(counted.count, 2);
  EXPECT_EQ(counted.type, "Warning");
  EXPECT_EQ(counted.first_time, absl::FromUnixSeconds(1));
  EXPECT_EQ(counted.last_time, absl::FromUnixSeconds(1) + absl::Microseconds(1));
}

TEST(Events, TheOldestGoes) {
  State state;
  StagedState<State> staged(state, 0);
  EventLog log(staged, absl::FromUnixSeconds(1));
  for (size_t i = 0; i < kMaxEventsAPool + 5; ++i) {
    log.Emit("uid-1", kPool, "CWNodeAssigned", std::to_string(i));
  }
  EXPECT_EQ(state.table<Event>().size(), kMaxEventsAPool - kForgottenEvents + 5);
  EXPECT_EQ(state.EventsOf("uid-1")->size(), kMaxEventsAPool - kForgottenEvents + 5);
  EXPECT_EQ(state.table<Event>().Find(
                EventName(ClusterNameOf(kPool), EventId("uid-1", kPool, "CWNodeAssigned", "99"))),
            nullptr);
}

}  // namespace
}  // namespace muster::lifecycle
