#include "services/lifecycle/reconcile/heard_stock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class HeardStockTest : public ::testing::Test {
 protected:
  HeardStock::InventoryKeys Take(absl::string_view name, absl::string_view zone, size_t print) {
    HeardStock::InventoryKeys changed;
    heard_.Take(name, {zone, "t", print}, changed);
    return changed;
  }
  HeardStock::InventoryKeys Forget(absl::string_view name) {
    HeardStock::InventoryKeys changed;
    heard_.Forget(name, changed);
    return changed;
  }
  HeardStock::InventoryKeys EndSnapshot() {
    HeardStock::InventoryKeys changed;
    heard_.EndSnapshot(changed);
    return changed;
  }
  void Use(absl::string_view name, HeardStock::Use use, absl::string_view claim = "") {
    HeardStock::InventoryKeys changed;
    heard_.Take(name, {"Z", "t", 7, use, claim}, changed);
  }
  int64_t Obtainable(absl::string_view claim, bool spot = false) const {
    return heard_.Obtainable({"Z", "t"}, claim, spot).value_or(-1);
  }
  HeardStock heard_;
};

TEST_F(HeardStockTest, OnlyWhatThereIsAndItsLabelsAreNews) {
  EXPECT_THAT(Take("m1", "Z", 7), ElementsAre(HeardStock::InventoryKey{"Z", "t"}));
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
  EXPECT_THAT(Forget("m4"), ElementsAre(HeardStock::InventoryKey{"W", "t"}));
  EXPECT_THAT(Forget("m4"), IsEmpty());
  heard_.BeginSnapshot();
  EXPECT_THAT(Take("m2", "Y", 7), IsEmpty());
  EXPECT_THAT(EndSnapshot(), ElementsAre(HeardStock::InventoryKey{"Z", "t"}));
}

using U = HeardStock::Use;

TEST_F(HeardStockTest, APoolCouldHaveWhatItHoldsWhatIsFreeAndWhatIsLent) {
  EXPECT_EQ(Obtainable("a"), -1) << "nothing was told yet";
  heard_.BeginSnapshot();
  Use("m1", U::kFree);
  EXPECT_EQ(Obtainable("a"), -1) << "not all of it";
  EndSnapshot();
  Use("m2", U::kHeld, "a");
  Use("m3", U::kHeld, "b");
  Use("m4", U::kLent, "s");
  Use("m5", U::kReclaimed, "s");
  Use("m6", U::kNone);  // in repair
  EXPECT_EQ(Obtainable("a"), 4);
  EXPECT_EQ(Obtainable("new"), 3);
  EXPECT_EQ(Obtainable("s", true), 2) << "what is taken back from it is not its own";
  EXPECT_EQ(Obtainable("new", true), 1);
  EXPECT_EQ(heard_.Obtainable({"Y", "t"}, "a", false), 0);
}

TEST_F(HeardStockTest, WhatAPoolIsGrantedDoesNotChangeWhatItCouldHave) {
  heard_.BeginSnapshot();
  for (const char* name : {"m1", "m2", "m3"}) Use(name, U::kFree);
  EndSnapshot();
  EXPECT_EQ(Obtainable("a"), 3);
  Use("m1", U::kHeld, "a");
  Use("m1", U::kHeld, "a");  // told twice
  EXPECT_EQ(Obtainable("a"), 3);
  EXPECT_EQ(Obtainable("b"), 2);
  Use("m1", U::kNone);  // it broke
  EXPECT_EQ(Obtainable("a"), 2);
  Forget("m2");
  EXPECT_EQ(Obtainable("a"), 1);
  heard_.BeginSnapshot();
  EndSnapshot();
  EXPECT_EQ(Obtainable("a"), 0) << "a new snapshot did not tell of it";
}

}  // namespace
}  // namespace muster::lifecycle
