#include "tests/observability/faster_rules.h"

#include <gtest/gtest.h>

namespace muster::testing {
namespace {

TEST(FasterRules, DivideWhatHasToPass) {
  EXPECT_EQ(FasterRules("expr: sum(increase(a[1h])) > 3600\nfor: 2m\n", 60),
            "expr: sum(increase(a[60s])) > 3600\nfor: 6s\n");
  EXPECT_EQ(FasterRules("for: 15m", 60), "for: 15s");
  EXPECT_EQ(FasterRules("for: 1m", 60), "for: 1s");
}

TEST(FasterRules, NobodyWaitsForAnHour) {
  EXPECT_EQ(FasterRules("for: 30m", 60), "for: 30s");
  EXPECT_EQ(FasterRules("for: 1h", 60), "for: 30s");
  EXPECT_EQ(FasterRules("repeat_interval: 1h\nexpr: rate(a[1h])\n", 60),
            "repeat_interval: 60s\nexpr: rate(a[60s])\n");
}

TEST(FasterRules, WindowsHoldAFewScrapes) {
  EXPECT_EQ(FasterRules("rate(a[2m]) for: 30s", 60), "rate(a[4s]) for: 0s");
}

TEST(FasterRules, GroupsOfAlertmanagerToo) {
  EXPECT_EQ(FasterRules("group_wait: 30s\ngroup_interval: 5m\nrepeat_interval: 1d\n", 60),
            "group_wait: 0s\ngroup_interval: 5s\nrepeat_interval: 1440s\n");
}

TEST(FasterRules, LeaveAllElse) {
  const std::string text = "alert: A\nexpr: a{b=\"[c]\"} > 5\nlabels: {severity: page}\n";
  EXPECT_EQ(FasterRules(text, 60), text);
}

}  // namespace
}  // namespace muster::testing
