#include "services/lifecycle/core/text.h"

#include <gtest/gtest.h>

namespace muster::lifecycle {
namespace {

TEST(Text, NamesFiveAtMost) {
  EXPECT_EQ(ListText({}), "");
  EXPECT_EQ(ListText({"a"}), "a");
  EXPECT_EQ(ListText({"a", "b", "c", "d", "e"}), "a, b, c, d, e");
  EXPECT_EQ(ListText({"a", "b", "c", "d", "e", "f", "g"}), "a, b, c, d, e and 2 more");
}

TEST(Text, ASentenceEndsWithOneFullStop) {
  EXPECT_EQ(BecauseText(""), ".");
  EXPECT_EQ(BecauseText("the disk is full"), ": the disk is full.");
  EXPECT_EQ(BecauseText("The disk is full."), ": The disk is full.");
}

TEST(Text, TimesHaveWholeSeconds) {
  EXPECT_EQ(TimeText(absl::FromUnixMillis(1'750'000'000'999)), "2025-06-15T15:06:40Z");
}

}  // namespace
}  // namespace muster::lifecycle
