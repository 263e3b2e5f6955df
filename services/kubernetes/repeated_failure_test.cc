#include "services/kubernetes/repeated_failure.h"

#include <gtest/gtest.h>

namespace muster::kubernetes {
namespace {

TEST(RepeatedFailure, IsToldAtOnceAndThenOnceAMinuteWithHowManyThereWere) {
  RepeatedFailure failure;
  constexpr absl::Duration kFirst = absl::Hours(3);
  EXPECT_EQ(failure.Tell(kFirst), 0);
  for (int second = 0; second < 60; ++second)
    EXPECT_EQ(failure.Tell(kFirst + absl::Seconds(second)), std::nullopt);
  EXPECT_EQ(failure.Tell(kFirst + absl::Minutes(1)), 60);
  EXPECT_EQ(failure.Tell(kFirst + absl::Minutes(1)), std::nullopt);
  EXPECT_EQ(failure.Tell(kFirst + absl::Minutes(9)), 1);
}

}  // namespace
}  // namespace muster::kubernetes
