#include "services/kubernetes/core/persistent_failures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace muster::kubernetes {
namespace {

const absl::Time kFirstFailure = absl::FromUnixSeconds(1'760'000'000);

TEST(PersistentFailures, AreToldAtGrowingDistances) {
  PersistentFailures failures;
  std::vector<int> told;
  for (int i = 1; i <= 200; ++i) {
    if (failures.Tell(i, kFirstFailure)) told.push_back(i);
  }
  EXPECT_THAT(told, ::testing::ElementsAre(8, 16, 32, 64, 128));
}

TEST(PersistentFailures, OfManyObjectsAFewAreToldAMinuteAndTheOthersCounted) {
  PersistentFailures failures;
  int told = 0;
  for (int object = 0; object < 1'000; ++object) {
    const auto others =
        failures.Tell(kPersistentFailures, kFirstFailure + object * absl::Milliseconds(1));
    if (!others) continue;
    EXPECT_EQ(*others, 0);
    ++told;
  }
  EXPECT_EQ(told, kMostToldAMinute);
  EXPECT_EQ(failures.Tell(1, kFirstFailure + absl::Minutes(1)), std::nullopt) << "not persistent";
  EXPECT_EQ(failures.Tell(16, kFirstFailure + absl::Minutes(1)), 1'000 - kMostToldAMinute);
  EXPECT_EQ(failures.Tell(16, kFirstFailure + absl::Minutes(1)), 0);
}

}  // namespace
}  // namespace muster::kubernetes
