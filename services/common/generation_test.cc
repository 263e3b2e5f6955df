#include "services/common/generation.h"

#include <gtest/gtest.h>

#include <limits>

#include "services/common/error.h"

namespace muster {
namespace {

constexpr int64_t kGreatest = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

TEST(GenerationTest, GrowsByBoundedJumps) {
  const struct {
    int64_t given = 0;
    int64_t last = 0;
    const char* reason = "";
  } cases[] = {{1, 0, ""},
               {7, 7, ""},
               {8, 7, ""},
               {6, 7, "GENERATION_TOO_OLD"},
               {kMaxGenerationJump, 0, ""},
               {kMaxGenerationJump + 1, 0, "GENERATION_OUT_OF_RANGE"},
               {kMaxGenerationJump + 7, 7, ""},
               {kMaxGenerationJump + 8, 7, "GENERATION_OUT_OF_RANGE"},
               {kGreatest, 0, "GENERATION_OUT_OF_RANGE"},
               {kGreatest, kGreatest - 1, ""},
               {1, kGreatest, "GENERATION_TOO_OLD"}};
  for (const auto& test : cases) {
    SCOPED_TRACE(testing::Message() << test.given << " after " << test.last);
    const absl::Status status = CheckGeneration("a/b", test.given, test.last);
    const auto detail = error::DetailOf(status);
    EXPECT_EQ(error::ReasonOf(status), test.reason);
    if (status.ok()) continue;
    EXPECT_EQ(detail->metadata.at("last_generation"), std::to_string(test.last));
    EXPECT_EQ(detail->metadata.at("generation"), std::to_string(test.given));
    EXPECT_EQ(detail->resource, "a/b");
  }
  EXPECT_TRUE(absl::IsAborted(CheckGeneration("a", 1, 2)));
  EXPECT_TRUE(absl::IsInvalidArgument(CheckGeneration("a", kGreatest, 2)));
}

// The greatest is what a Check makes of 0: a caller who wrote it would be taken by a Check and
// refused by what it asks about.
TEST(GenerationTest, CallersWriteAnyAboveNoneButTheNewest) {
  for (const int64_t given : {int64_t{1}, int64_t{41}, kGreatest - 1})
    EXPECT_TRUE(IsGeneration(given)) << given;
  for (const int64_t given : {kLeast, int64_t{-1}, int64_t{0}, kNewestGeneration})
    EXPECT_FALSE(IsGeneration(given)) << given;
}

TEST(GenerationTest, TheNewestIsAlwaysTaken) {
  for (const int64_t last : {int64_t{0}, int64_t{41}, kGreatest - 1, kGreatest}) {
    EXPECT_TRUE(CheckGeneration("a", CheckedGeneration(kNewestGeneration, last), last).ok())
        << last;
  }
  EXPECT_EQ(CheckedGeneration(kNewestGeneration, 41), 42);
  EXPECT_EQ(CheckedGeneration(7, 41), 7);
}

}  // namespace
}  // namespace muster
