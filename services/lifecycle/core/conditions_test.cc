#include "services/lifecycle/core/conditions.h"

#include <gtest/gtest.h>

namespace muster::lifecycle {
namespace {

const absl::Time kThen = absl::FromUnixSeconds(1'000);
const absl::Time kNow = absl::FromUnixSeconds(2'000);

TEST(Conditions, AreFoundByType) {
  const std::vector<Condition> conditions = {{"Quota", "True", "Under"},
                                             {"AtTarget", "False", "x"}};
  EXPECT_EQ(FindCondition(conditions, "AtTarget"), &conditions[1]);
  EXPECT_EQ(FindCondition(conditions, "Capacity"), nullptr);
  EXPECT_EQ(ReasonOf(conditions, "Quota"), "Under");
  EXPECT_EQ(ReasonOf(conditions, "Capacity"), "");
}

// As Kubernetes has it: the last time that the condition transitioned from one status to another.
TEST(Conditions, TheTransitionIsThatOfTheStatus) {
  std::vector<Condition> conditions = {{"Quota", "True", "Under", "m", kThen, 1},
                                       {"Capacity", "True", "Sufficient", "m", kThen, 1},
                                       {"Gone", "True", "x", "m", kThen, 1}};
  SetConditions(conditions,
                {{"Capacity", "False", "Partial", "n"}, {"Quota", "True", "NotSet", "n"}, {"New"}},
                2, kNow);
  const std::vector<Condition> expected = {{"Capacity", "False", "Partial", "n", kNow, 2},
                                           {"Quota", "True", "NotSet", "n", kThen, 2},
                                           {"New", "", "", "", kNow, 2}};
  EXPECT_EQ(conditions, expected);
}

TEST(Conditions, OneThatIsOnlyKeptSpeaksOfItsOwnGeneration) {
  std::vector<Condition> conditions = {{"Capacity", "True", "Sufficient", "m", kThen, 1},
                                       {"Quota", "True", "Under", "m", kThen, 1}};
  const Condition kept = conditions[0];
  SetConditions(conditions, {kept, {"Quota", "True", "Under", "m"}}, 2, kNow);
  const std::vector<Condition> expected = {{"Capacity", "True", "Sufficient", "m", kThen, 1},
                                           {"Quota", "True", "Under", "m", kThen, 2}};
  EXPECT_EQ(conditions, expected);
}

}  // namespace
}  // namespace muster::lifecycle
