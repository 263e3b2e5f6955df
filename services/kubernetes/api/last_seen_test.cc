#include "services/kubernetes/api/last_seen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace muster::kubernetes {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

struct Object {
  std::string name = {};
  std::string resource_version = {};
};

class LastSeenTest : public ::testing::Test {
 protected:
  void Put(const std::string& name, const std::string& version) {
    seen_.Put(name, {name, version});
  }
  void PutListed(const std::string& name, const std::string& version) {
    seen_.PutListed(name, {name, version});
  }
  // What was told since the last call: `name before>after`.
  std::vector<std::string> Told() { return std::exchange(told_, {}); }

  std::vector<std::string> told_;
  LastSeen<Object> seen_{[this](const Object* before, const Object* after) {
    told_.push_back(absl::StrCat((after != nullptr ? after : before)->name, " ",
                                 before == nullptr ? "" : before->resource_version, ">",
                                 after == nullptr ? "" : after->resource_version));
  }};
};

TEST_F(LastSeenTest, WhatComesLateChangesNothing) {
  Put("a", "9");
  Put("a", "9");
  Put("a", "8");
  Put("a", "10");
  seen_.Remove("a", "9");
  EXPECT_THAT(Told(), ElementsAre("a >9", "a 9>10"));
  seen_.Remove("a", "11");
  seen_.Remove("a", "11");
  EXPECT_THAT(Told(), ElementsAre("a 10>"));
}

TEST_F(LastSeenTest, WhatIsGoneDoesNotComeBackByALateAnswer) {
  seen_.Remove("a", "7");
  Put("a", "6");
  EXPECT_THAT(Told(), IsEmpty());
  Put("a", "8");
  EXPECT_THAT(Told(), ElementsAre("a >8")) << "another one of its name";
}

TEST_F(LastSeenTest, OfMoreDeletionsThanAreRememberedTheLastOnesAre) {
  constexpr auto kMost = LastSeen<Object>::kMostTombstones;
  seen_.Remove("oldest", "6");
  seen_.Remove("told again", "6");
  for (size_t i = 0; i + 2 < kMost; ++i) seen_.Remove(absl::StrCat("other ", i), "7");
  seen_.Remove("told again", "7");
  seen_.Remove("newest", "7");  // one more than are remembered
  Put("told again", "6");
  Put("newest", "6");
  Put("other 0", "6");
  EXPECT_THAT(Told(), IsEmpty());
  Put("oldest", "5");
  EXPECT_THAT(Told(), ElementsAre("oldest >5"));
}

TEST_F(LastSeenTest, AListForgetsWhatItDoesNotName) {
  Put("a", "1");
  Put("b", "2");
  seen_.BeginList();
  PutListed("a", "1");
  seen_.BeginList();  // the first one failed
  PutListed("b", "2");
  Told();
  seen_.EndList("2");
  EXPECT_THAT(Told(), ElementsAre("a 1>"));
  EXPECT_EQ(seen_.objects().size(), 1u);
}

TEST_F(LastSeenTest, AListKnowsNothingOfWhatIsLater) {
  Put("known", "16");
  seen_.BeginList();
  Put("new", "17");
  Told();
  seen_.EndList("15");
  EXPECT_THAT(Told(), IsEmpty());
}

// It was asked for before its object went, which the list has seen already.
TEST_F(LastSeenTest, AListForgetsWhatAnAnswerAloneNamed) {
  Put("known", "1");
  seen_.BeginList();
  Put("known", "8");
  Put("new", "9");
  PutListed("listed", "3");
  Put("listed", "10");
  Told();
  seen_.EndList("15");
  EXPECT_THAT(Told(), UnorderedElementsAre("known 8>", "new 9>"));
  Put("new", "9");
  Put("new", "15");
  EXPECT_THAT(Told(), IsEmpty()) << "not after the list either";
  seen_.BeginList();
  Put("new", "9");
  EXPECT_THAT(Told(), IsEmpty());
  Put("new", "16");
  EXPECT_THAT(Told(), ElementsAre("new >16"));
}

TEST_F(LastSeenTest, AListIsRightAboutWhatHasNoNumber) {
  Put("a", "x");
  seen_.BeginList();
  seen_.EndList("y");
  EXPECT_THAT(Told(), ElementsAre("a >x", "a x>"));
  Put("a", "x");
  EXPECT_THAT(Told(), ElementsAre("a >x"));
}

TEST_F(LastSeenTest, AfterAStepBackInTimeTheListIsRightWhateverItsVersions) {
  Put("a", "9");
  Put("b", "9");
  seen_.Remove("b", "10");
  Put("c", "9");
  Told();
  seen_.BeginList();
  seen_.BeginAnew();
  PutListed("a", "4");
  PutListed("a", "3");
  PutListed("b", "5");
  EXPECT_THAT(Told(), ElementsAre("a 9>4", "b >5")) << "once each: then versions count again";
  seen_.EndList("5");
  EXPECT_THAT(Told(), ElementsAre("c 9>"));
  Put("c", "6");
  EXPECT_THAT(Told(), ElementsAre("c >6"));
}

TEST_F(LastSeenTest, IsErasedWhateverItsVersion) {
  Put("a", "9");
  seen_.Erase("a");
  seen_.Erase("a");
  EXPECT_THAT(Told(), ElementsAre("a >9", "a 9>"));
}

TEST(JsonTest, WhatIsMissingOrOfAnotherTypeReadsAsEmpty) {
  const Json object = {{"a", {{"b", "text"}, {"n", 7}, {"t", true}}}};
  EXPECT_EQ(TextOf(MemberOf(object, "a", "b")), "text");
  EXPECT_EQ(NumberOf(MemberOf(object, "a", "n")), 7);
  EXPECT_TRUE(IsTrue(MemberOf(object, "a", "t")));
  for (const Json& nothing :
       {MemberOf(object, "a", "b", "c"), MemberOf(object, "x", "y"), MemberOf(object, "a")}) {
    EXPECT_EQ(TextOf(nothing), "");
    EXPECT_EQ(NumberOf(nothing), 0);
    EXPECT_FALSE(IsTrue(nothing));
  }
}

TEST(IsOlder, IsKnownOfNumbersAlone) {
  EXPECT_TRUE(IsOlder("9", "10"));
  EXPECT_FALSE(IsOlder("10", "9"));
  EXPECT_FALSE(IsOlder("10", "10"));
  EXPECT_FALSE(IsOlder("", "10"));
  EXPECT_FALSE(IsOlder("10", "x"));
}

TEST(IsLater, ComparesNumbers) {
  EXPECT_TRUE(IsLater("10", "9"));
  EXPECT_FALSE(IsLater("9", "10"));
  EXPECT_FALSE(IsLater("10", "10"));
  EXPECT_TRUE(IsLater("18446744073709551615", "18446744073709551614"));
  EXPECT_TRUE(IsLater("", "10"));
  EXPECT_TRUE(IsLater("10", "x"));
}

}  // namespace
}  // namespace muster::kubernetes
