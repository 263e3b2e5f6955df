#include "services/lifecycle/reconcile/machine_mirror.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class MachineMirrorTest : public ::testing::Test {
 protected:
  MachineMirror::InventoryKeys Take(absl::string_view name, absl::string_view zone, size_t print) {
    MachineMirror::InventoryKeys changed;
    mirror_.Take(name, {zone, "t", print}, changed);
    return changed;
  }
  MachineMirror::InventoryKeys Forget(absl::string_view name) {
    MachineMirror::InventoryKeys changed;
    mirror_.Forget(name, changed);
    return changed;
  }
  MachineMirror::InventoryKeys EndSnapshot() {
    MachineMirror::InventoryKeys changed;
    mirror_.EndSnapshot(changed);
    return changed;
  }
  void Use(absl::string_view name, MachineMirror::Use use, absl::string_view claim = "") {
    MachineMirror::InventoryKeys changed;
    mirror_.Take(name, {"Z", "t", 7, use, claim}, changed);
  }
  int64_t Obtainable(absl::string_view claim, bool spot = false) const {
    return mirror_.Obtainable({"Z", "t"}, claim, spot).value_or(-1);
  }
  MachineMirror mirror_;
};

TEST_F(MachineMirrorTest, OnlyWhatThereIsAndItsLabelsAreNews) {
  EXPECT_THAT(Take("m1", "Z", 7), ElementsAre(MachineMirror::InventoryKey{"Z", "t"}));
  EXPECT_THAT(Take("m1", "Z", 7), IsEmpty());  // held, earmarked, reclaimed
  EXPECT_THAT(Take("m1", "Z", 9).size(), 1U);  // other labels
  EXPECT_THAT(Take("m1", "Z", 8).size(), 1U);  // broken
  EXPECT_THAT(Take("m1", "Z", 0).size(), 1U);  // retired
  EXPECT_THAT(Take("m1", "Z", 0), IsEmpty());
  EXPECT_THAT(Take("m2", "Z", 0), IsEmpty());  // new, and retired
  EXPECT_THAT(Take("m1", "Z", 9).size(), 1U);  // repaired
  EXPECT_THAT(Take("m1", "Y", 9).size(), 2U) << "moved";
}

TEST_F(MachineMirrorTest, WhoHoldsAMachineHearsOfItsLabels) {
  const auto is_news = [&](size_t print, absl::string_view claim) {
    MachineMirror::InventoryKeys changed;
    return mirror_.Take("m1", {"Z", "t", print, MachineMirror::Use::kHeld, claim}, changed);
  };
  EXPECT_FALSE(is_news(7, "a")) << "nothing was known of it";
  EXPECT_FALSE(is_news(7, "a"));
  EXPECT_TRUE(is_news(9, "a"));
  EXPECT_FALSE(is_news(9, "b")) << "another one holds it as it is";
  EXPECT_FALSE(is_news(7, "")) << "nobody holds it";
}

TEST_F(MachineMirrorTest, WhatIsGoneOrMissingInASnapshotWasInService) {
  EXPECT_THAT(Forget("m1"), IsEmpty());
  mirror_.BeginSnapshot();
  Take("m1", "Z", 7);
  Take("m2", "Y", 7);
  Take("m3", "X", 0);
  Take("m4", "W", 7);
  EXPECT_THAT(EndSnapshot(), IsEmpty());
  EXPECT_THAT(Forget("m4"), ElementsAre(MachineMirror::InventoryKey{"W", "t"}));
  EXPECT_THAT(Forget("m4"), IsEmpty());
  mirror_.BeginSnapshot();
  EXPECT_THAT(Take("m2", "Y", 7), IsEmpty());
  EXPECT_THAT(EndSnapshot(), ElementsAre(MachineMirror::InventoryKey{"Z", "t"}));
}

using U = MachineMirror::Use;

TEST_F(MachineMirrorTest, APoolCouldHaveWhatItHoldsWhatIsFreeAndWhatIsLent) {
  EXPECT_EQ(Obtainable("a"), -1) << "nothing was told yet";
  mirror_.BeginSnapshot();
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
  EXPECT_EQ(mirror_.Obtainable({"Y", "t"}, "a", false), 0);
}

TEST_F(MachineMirrorTest, WhatAPoolIsGrantedDoesNotChangeWhatItCouldHave) {
  mirror_.BeginSnapshot();
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
  mirror_.BeginSnapshot();
  EndSnapshot();
  EXPECT_EQ(Obtainable("a"), 0) << "a new snapshot did not tell of it";
}

}  // namespace
}  // namespace muster::lifecycle
