#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/observability/panels.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

PanelAnswer AnswerOf(std::string legend, std::vector<Series> all, std::string error = "") {
  return {.query = {.dashboard = "D", .panel = "P", .expression = "x", .legend = std::move(legend)},
          .answer = {.all = std::move(all), .error = std::move(error)}};
}

TEST(TableOf, HasOneOfManySeries) {
  const std::string table =
      TableOf({AnswerOf("{{zone}} {{gone}} half", {{{{"zone", "A|1"}}, "0"},
                                                   {{{"zone", "B"}}, "NaN"},
                                                   {{{"zone", "C"}}, "0.123456"}}),
               AnswerOf("", {{{{"a", "x"}, {"b", "y"}}, "0"}})});
  EXPECT_THAT(table, HasSubstr("| D | P | 1 | 3 | C half 0.123 |\n"));
  EXPECT_THAT(table, HasSubstr("| D | P | 2 | 1 | x y 0 |\n"));
}

TEST(TableOf, SaysWhatHasNoData) {
  EXPECT_THAT(TableOf({AnswerOf("a", {})}), HasSubstr("| 0, NOTHING |  |"));
  EXPECT_THAT(TableOf({AnswerOf("a", {{{}, "NaN"}})}), HasSubstr("| 1, NO NUMBER |  |"));
  EXPECT_THAT(TableOf({AnswerOf("a", {}, "no such function")}),
              HasSubstr("| 0, refused: no such function |"));
}

TEST(ChangeOf, IsWhatIsDrawnOtherwise) {
  EXPECT_EQ(ChangeOf({{"quota", "0"}, {"lifecycle", "1"}, {"same", "2.00001"}},
                     {{"quota", "3"}, {"same", "2.00002"}, {"new", "0.5"}}),
            "quota 0 to 3, new nothing to 0.5, lifecycle 1 to nothing");
  EXPECT_EQ(ChangeOf({{"", "0"}}, {{"", "1"}}), "0 to 1");
  EXPECT_EQ(ChangeOf({{"a", "1"}}, {{"a", "1"}}), "");
  EXPECT_EQ(ChangeOf({}, {{"a", "1"}, {"b", "1"}, {"c", "1"}, {"d", "1"}, {"e", "1"}}),
            "a nothing to 1, b nothing to 1, c nothing to 1, and 2 others");
}

TEST(Rounded, HasThreeDigits) {
  EXPECT_EQ(Rounded("0.0123456"), "0.0123");
  EXPECT_EQ(Rounded("1250.4"), "1250");
  EXPECT_EQ(Rounded("3"), "3");
  EXPECT_EQ(Rounded("NaN"), "NaN");
  EXPECT_EQ(Rounded("+Inf"), "+Inf");
}

}  // namespace
}  // namespace muster::testing
