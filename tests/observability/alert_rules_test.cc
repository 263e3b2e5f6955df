#include "tests/observability/alert_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/testing/temp_folder.h"

namespace muster::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(AlertRulesOf, AreAsTheyAreShipped) {
  const TempFolder folder;
  std::ofstream(folder.Path("rules.yaml"))
      << "groups:\n- name: a\n  rules:\n"
         "  - {record: 's:a:rate5m', expr: 'rate(a[5m])'}\n"
         "  - {alert: Slow, expr: 'a:p99_5m > 1 and increase(b_5{c=\"60\"}[30m]) > 3600', for: 2m, "
         "labels: {severity: page}}\n"
         "- name: b\n  rules:\n"
         "  - {alert: Now, expr: 'a:ratio_rate1h > 2 and a:rate1h * 3600 > 5'}\n";
  const std::vector<AlertRule> rules = AlertRulesOf(folder.Path("rules.yaml"));
  ASSERT_EQ(rules.size(), 2U);
  EXPECT_EQ(rules[0].name, "Slow");
  EXPECT_EQ(rules[0].severity, "page");
  EXPECT_EQ(rules[0].wait, "2m");
  EXPECT_THAT(rules[0].windows, ElementsAre("5m", "30m"));
  EXPECT_EQ(rules[1].name, "Now");
  EXPECT_EQ(rules[1].wait, "");
  EXPECT_THAT(rules[1].windows, ElementsAre("1h"));
}

TEST(AlertRulesOf, AFileWithoutAnyHasNone) {
  const TempFolder folder;
  std::ofstream(folder.Path("rules.yaml")) << "groups: []\n";
  EXPECT_THAT(AlertRulesOf(folder.Path("rules.yaml")), IsEmpty());
  EXPECT_ANY_THROW(AlertRulesOf(folder.Path("nowhere.yaml")));
}

}  // namespace
}  // namespace muster::testing
