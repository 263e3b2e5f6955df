#include "storage/postgres/past_lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace muster::storage {
namespace {

using std::chrono::seconds;

constexpr PastLists::Time kStart{};

std::shared_ptr<const PastList> ListOf(const std::map<std::string, int64_t>& revisions) {
  return std::make_shared<const PastList>(revisions);
}

PastLists::Id At(int64_t revision) { return {"history", revision, {"organizations/", "nodes"}}; }

TEST(PastScopeTest, HasWhatIsBelowAndOfTheCollection) {
  const PastScope nodes{"organizations/acme/", "nodes"};
  EXPECT_TRUE(nodes.Has("organizations/acme/clusters/c/nodePools/p/nodes/n"));
  EXPECT_FALSE(nodes.Has("organizations/acme/clusters/c/nodePools/p"));
  EXPECT_FALSE(nodes.Has("organizations/other/clusters/c/nodePools/p/nodes/n"));
  EXPECT_TRUE((PastScope{"organizations/acme/", ""}).Has("organizations/acme/clusters/c"));
}

TEST(PastListTest, FindsItsPlaceByKey) {
  const auto list = ListOf({{"a", 3}, {"ab", 1}, {"c", 2}});
  ASSERT_EQ(list->size(), 3U);
  EXPECT_EQ(list->key(0), "a");
  EXPECT_EQ(list->key(1), "ab");
  EXPECT_EQ(list->key(2), "c");
  EXPECT_EQ(list->revision(1), 1);
  EXPECT_EQ(list->FindAfter(""), 0U);
  EXPECT_EQ(list->FindAfter("a"), 1U);
  EXPECT_EQ(list->FindAfter("b"), 2U);
  EXPECT_EQ(list->FindAfter("c"), 3U);
  EXPECT_EQ(ListOf({})->FindAfter("a"), 0U);
}

TEST(PastListsTest, OneIsOfItsHistoryMomentAndScope) {
  PastLists lists;
  const auto list = ListOf({{"a", 1}});
  lists.Keep(At(7), list, kStart);
  EXPECT_EQ(lists.Find(At(7), kStart), list);
  EXPECT_EQ(lists.Find(At(8), kStart), nullptr);
  EXPECT_EQ(lists.Find({"another", 7, At(7).scope}, kStart), nullptr);
  EXPECT_EQ(lists.Find({"history", 7, {"organizations/", "events"}}, kStart), nullptr);
  EXPECT_EQ(lists.Find({"history", 7, {"organizations/acme/", "nodes"}}, kStart), nullptr);
}

TEST(PastListsTest, OneThatNobodyReadsIsDropped) {
  PastLists lists;
  lists.Keep(At(1), ListOf({{"a", 1}}), kStart);
  lists.Keep(At(2), ListOf({{"a", 2}}), kStart);
  EXPECT_NE(lists.Find(At(1), kStart + kPastKeepTime / 2), nullptr);
  lists.DropOld(kStart + kPastKeepTime);
  EXPECT_NE(lists.Find(At(1), kStart + kPastKeepTime), nullptr);
  EXPECT_EQ(lists.Find(At(2), kStart + kPastKeepTime), nullptr);
  lists.DropOld(kStart + 2 * kPastKeepTime);
  EXPECT_EQ(lists.bytes(), 0U);
}

TEST(PastListsTest, TogetherTheyHaveTheirBytesAndWhatWasReadLastStays) {
  PastLists measured;
  measured.Keep(At(1), ListOf({{"a", 1}}), kStart);
  const size_t one = measured.bytes();
  EXPECT_GT(one, ListOf({{"a", 1}})->bytes() + sizeof(PastList)) << "what it is kept in counts too";
  PastLists lists(2 * one);
  lists.Keep(At(1), ListOf({{"a", 1}}), kStart);
  lists.Keep(At(2), ListOf({{"a", 2}}), kStart);
  EXPECT_NE(lists.Find(At(1), kStart + seconds(1)), nullptr);
  lists.Keep(At(3), ListOf({{"a", 3}}), kStart + seconds(1));
  EXPECT_EQ(lists.bytes(), 2 * one);
  EXPECT_NE(lists.Find(At(1), kStart), nullptr);
  EXPECT_EQ(lists.Find(At(2), kStart), nullptr);
  EXPECT_NE(lists.Find(At(3), kStart), nullptr);
  // The same once more takes no more room.
  lists.Keep(At(3), ListOf({{"a", 3}}), kStart);
  EXPECT_EQ(lists.bytes(), 2 * one);
  // One that is too large leaves the others where they are.
  std::map<std::string, int64_t> many;
  for (int i = 0; i < 1'000; ++i) many[absl::StrCat("key-", i)] = 1;
  lists.Keep(At(4), std::make_shared<const PastList>(many), kStart);
  EXPECT_EQ(lists.Find(At(4), kStart), nullptr);
  EXPECT_EQ(lists.bytes(), 2 * one);
}

TEST(PastListsTest, TheyAreNotTooManyToBeLookedThrough) {
  PastLists lists;
  const auto count = static_cast<int64_t>(kMostPastLists);
  for (int64_t i = 0; i <= count; ++i) lists.Keep(At(i), ListOf({{"a", 1}}), kStart);
  EXPECT_EQ(lists.Find(At(0), kStart), nullptr);
  EXPECT_NE(lists.Find(At(1), kStart), nullptr);
  EXPECT_NE(lists.Find(At(count), kStart), nullptr);
}

}  // namespace
}  // namespace muster::storage
