#include "services/lifecycle/heard_stock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class HeardStockTest : public ::testing::Test {
 protected:
  HeardStock::Depots Take(absl::string_view name, absl::string_view zone, size_t print) {
    HeardStock::Depots changed;
    heard_.Take(name, {zone, "t", print}, changed);
    return changed;
  }
  HeardStock::Depots Forget(absl::string_view name) {
    HeardStock::Depots changed;
    heard_.Forget(name, changed);
    return changed;
  }
  HeardStock::Depots EndSnapshot() {
    HeardStock::Depots changed;
    heard_.EndSnapshot(changed);
    return changed;
  }
  HeardStock heard_;
};

TEST_F(HeardStockTest, OnlyWhatThereIsAndItsLabelsAreNews) {
  EXPECT_THAT(Take("m1", "Z", 7), ElementsAre(HeardStock::Depot{"Z", "t"}));
  EXPECT_THAT(Take("m1", "Z", 7), IsEmpty());  // held, earmarked, reclaimed
  EXPECT_THAT(Take("m1", "Z", 9).size(), 1U);  // other labels
  EXPECT_THAT(Take("m1", "Z", 8).size(), 1U);  // broken
  EXPECT_THAT(Take("m1", "Z", 0).size(), 1U);  // retired
  EXPECT_THAT(Take("m1", "Z", 0), IsEmpty());
  EXPECT_THAT(Take("m2", "Z", 0), IsEmpty());  // new, and retired
  EXPECT_THAT(Take("m1", "Z", 9).size(), 1U);  // repaired
  EXPECT_THAT(Take("m1", "Y", 9).size(), 2U) << "moved";
}

TEST_F(HeardStockTest, WhatIsGoneOrMissingInASnapshotWasInService) {
  EXPECT_THAT(Forget("m1"), IsEmpty());
  heard_.BeginSnapshot();
  Take("m1", "Z", 7);
  Take("m2", "Y", 7);
  Take("m3", "X", 0);
  Take("m4", "W", 7);
  EXPECT_THAT(EndSnapshot(), IsEmpty());
  EXPECT_THAT(Forget("m4"), ElementsAre(HeardStock::Depot{"W", "t"}));
  EXPECT_THAT(Forget("m4"), IsEmpty());
  heard_.BeginSnapshot();
  EXPECT_THAT(Take("m2", "Y", 7), IsEmpty());
  EXPECT_THAT(EndSnapshot(), ElementsAre(HeardStock::Depot{"Z", "t"}));
}

}  // namespace
}  // namespace muster::lifecycle
