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

struct Object {
  std::string name = {};
  std::string resource_version = {};
};

class LastSeenTest : public ::testing::Test {
 protected:
  void Put(const std::string& name, const std::string& version) {
    seen_.Put(name, {name, version});
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

TEST_F(LastSeenTest, AListForgetsWhatItDoesNotName) {
  Put("a", "1");
  Put("b", "2");
  seen_.BeginList();
  Put("a", "1");
  seen_.BeginList();  // the first one failed
  Put("b", "2");
  Told();
  seen_.EndList();
  EXPECT_THAT(Told(), ElementsAre("a 1>"));
  EXPECT_EQ(seen_.objects().size(), 1u);
}

TEST_F(LastSeenTest, AfterAStepBackInTimeTheListIsRightWhateverItsVersions) {
  Put("a", "9");
  Put("b", "9");
  seen_.Remove("b", "10");
  Told();
  seen_.BeginList();
  seen_.BeginAnew();
  Put("a", "4");
  Put("a", "3");
  Put("b", "5");
  EXPECT_THAT(Told(), ElementsAre("a 9>4", "b >5")) << "once each: then versions count again";
  seen_.EndList();
  EXPECT_THAT(Told(), IsEmpty());
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
