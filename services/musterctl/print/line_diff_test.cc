#include "services/musterctl/print/line_diff.h"

#include <gtest/gtest.h>

namespace muster::musterctl {
namespace {

TEST(LineDiffTest, SaysNothingOfWhatIsTheSame) {
  EXPECT_EQ(LineDiff("a\nb\n", "a\nb\n"), "");
  EXPECT_EQ(LineDiff("", ""), "");
}

// As GNU diff -u has them.
TEST(LineDiffTest, HunksWithThreeLinesAround) {
  EXPECT_EQ(LineDiff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nX\n6\n7\n8\n9\n"),
            "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+X\n 6\n 7\n 8\n");
  EXPECT_EQ(LineDiff("a\n", "a\nb\n"), "@@ -1 +1,2 @@\n a\n+b\n");
  EXPECT_EQ(LineDiff("a\nb\n", "b\n"), "@@ -1,2 +1 @@\n-a\n b\n");
}

// It names the line before: none.
TEST(LineDiffTest, OfWhatIsNotThere) {
  EXPECT_EQ(LineDiff("", "a\nb\n"), "@@ -0,0 +1,2 @@\n+a\n+b\n");
  EXPECT_EQ(LineDiff("a\nb\n", ""), "@@ -1,2 +0,0 @@\n-a\n-b\n");
  EXPECT_EQ(LineDiff("", "a\n"), "@@ -0,0 +1 @@\n+a\n");
}

TEST(LineDiffTest, ChangesThatAreFarApartAreHunksOfTheirOwn) {
  EXPECT_EQ(LineDiff("a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n"),
            "@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n");
  EXPECT_EQ(LineDiff("a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n"),
            "@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n");
}

}  // namespace
}  // namespace muster::musterctl
