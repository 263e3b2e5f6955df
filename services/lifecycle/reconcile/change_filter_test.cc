#include "services/lifecycle/reconcile/change_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::lifecycle {
namespace {

constexpr char kKey[] = "claims/u1";

TEST(ChangeFilter, ASnapshotOfWhatWasToldBeforeIsNoNews) {
  ChangeFilter filter(false);
  filter.BeginSnapshot();
  EXPECT_TRUE(filter.IsNews(kKey, {7, 1, 100}));
  EXPECT_TRUE(filter.IsNews("claims/u2", {8, 1, 100}));
  filter.EndSnapshot();
  filter.BeginSnapshot();
  EXPECT_FALSE(filter.IsNews(kKey, {7, 1, 100}));
  EXPECT_TRUE(filter.IsNews("claims/u2", {9, 1, 100}));  // another machine, it may be
  filter.EndSnapshot();
  // Another history: the same number, another resource.
  EXPECT_TRUE(filter.IsNews(kKey, {7, 1, 101}));
}

TEST(ChangeFilter, WhatASnapshotLacksIsNamedAndForgotten) {
  ChangeFilter filter(true);
  filter.BeginSnapshot();
  EXPECT_TRUE(filter.IsNews(kKey, {7, 0, 1}));
  EXPECT_TRUE(filter.IsNews("claims/u2", {8, 0, 1}));
  EXPECT_THAT(filter.EndSnapshot(), ::testing::IsEmpty());
  filter.BeginSnapshot();
  EXPECT_FALSE(filter.IsNews("claims/u2", {8, 0, 1}));
  EXPECT_THAT(filter.EndSnapshot(), ::testing::ElementsAre(kKey));
  EXPECT_TRUE(filter.IsNews(kKey, {7, 0, 1}));
}

// Of one that was asked for between two streams only the answer told.
TEST(ChangeFilter, WhatWasAnsweredAndASnapshotLacksIsNamed) {
  ChangeFilter filter(false);
  for (const char* key : {kKey, "claims/u2", "claims/u3"}) filter.Asking(key);
  EXPECT_FALSE(filter.Answered(kKey, 100));
  EXPECT_FALSE(filter.Answered("claims/u2", 0)) << "it was refused";
  filter.BeginSnapshot();
  EXPECT_THAT(filter.EndSnapshot(), ::testing::ElementsAre(kKey)) << "one is being asked for";
}

TEST(ChangeFilter, TheEchoOfAnAnswerIsNoNews) {
  ChangeFilter filter(false);
  EXPECT_TRUE(filter.IsNews(kKey, {7, 1, 100}));
  filter.Asking(kKey);
  EXPECT_FALSE(filter.Answered(kKey, 200));
  EXPECT_FALSE(filter.IsNews(kKey, {8, 2, 200}));
  // Granted since.
  EXPECT_TRUE(filter.IsNews(kKey, {9, 2, 300}));
}

TEST(ChangeFilter, AnEchoThatComesBeforeTheAnswerIsNoNews) {
  ChangeFilter filter(false);
  filter.Asking(kKey);
  EXPECT_FALSE(filter.IsNews(kKey, {8, 2, 200}));
  EXPECT_FALSE(filter.Answered(kKey, 200));
}

TEST(ChangeFilter, NewsDuringARequestWaitAndAreNotLost) {
  ChangeFilter filter(false);
  filter.Asking(kKey);
  EXPECT_FALSE(filter.IsNews(kKey, {8, 2, 200}));
  EXPECT_FALSE(filter.IsNews(kKey, {9, 2, 300}));
  EXPECT_TRUE(filter.Answered(kKey, 200));
  filter.Asking(kKey);
  EXPECT_FALSE(filter.IsNews(kKey, {10, 2, 400}));
  EXPECT_TRUE(filter.Answered(kKey, 0));  // no answer came
  EXPECT_TRUE(filter.IsNews(kKey, {11, 2, 500}));
}

// A machine broke and another came at once: the claim looks the same, its machines are others.
TEST(ChangeFilter, AnotherChangeThatLooksTheSameIsNews) {
  ChangeFilter filter(false);
  filter.Asking(kKey);
  EXPECT_FALSE(filter.Answered(kKey, 200));
  EXPECT_FALSE(filter.IsNews(kKey, {8, 2, 200}));
  EXPECT_TRUE(filter.IsNews(kKey, {9, 2, 200}));
  filter.Asking(kKey);
  EXPECT_FALSE(filter.IsNews(kKey, {10, 2, 200}));
  EXPECT_TRUE(filter.Answered(kKey, 200));
}

TEST(ChangeFilter, WhereAWatchShowsEverythingTheSameIsTheSame) {
  ChangeFilter filter(true);
  filter.Asking(kKey);
  EXPECT_FALSE(filter.Answered(kKey, 200));
  EXPECT_FALSE(filter.IsNews(kKey, {8, 2, 200}));
  EXPECT_FALSE(filter.IsNews(kKey, {9, 2, 200}));
  EXPECT_TRUE(filter.IsNews(kKey, {10, 2, 300}));
}

TEST(ChangeFilter, SaysHowAResourceWasToldLast) {
  ChangeFilter filter(true);
  EXPECT_EQ(filter.PrintOf(kKey), 0U);
  EXPECT_TRUE(filter.IsNews(kKey, {8, 2, 200}));
  EXPECT_TRUE(filter.IsNews(kKey, {9, 2, 300}));
  EXPECT_EQ(filter.PrintOf(kKey), 300U);
  filter.Forget(kKey);
  EXPECT_EQ(filter.PrintOf(kKey), 0U);
}

TEST(ChangeFilter, NothingIsKeptOfWhatIsGone) {
  ChangeFilter filter(false);
  filter.Asking(kKey);
  EXPECT_TRUE(filter.IsNews("claims/u2", {8, 2, 200}));
  filter.Forget(kKey);
  filter.Forget("claims/u2");
  EXPECT_FALSE(filter.Answered(kKey, 200));
  EXPECT_EQ(filter.size(), 0U);
}

// A pool releases all that it has in each pass until every service has answered.
TEST(ChangeFilter, NothingIsKeptOfWhatIsReleasedAgain) {
  ChangeFilter filter(false);
  EXPECT_TRUE(filter.IsNews(kKey, {7, 1, 100}));
  filter.Asking(kKey);
  EXPECT_FALSE(filter.Answered(kKey, 200, /*release=*/true));
  EXPECT_EQ(filter.size(), 1U) << "its end is yet to be told";
  filter.Forget(kKey);
  for (const size_t print : {0UL, 200UL}) {
    filter.Asking(kKey);
    EXPECT_FALSE(filter.Answered(kKey, print, /*release=*/true));
    EXPECT_EQ(filter.size(), 0U);
  }
  // What the watch tells during the release stays until it tells the end.
  filter.Asking(kKey);
  EXPECT_FALSE(filter.IsNews(kKey, {8, 2, 300}));
  EXPECT_TRUE(filter.Answered(kKey, 200, /*release=*/true));
  EXPECT_EQ(filter.size(), 1U);
}

TEST(ChangeFilter, AnythingAfterADeletionIsNews) {
  ChangeFilter filter(false);
  EXPECT_TRUE(filter.IsNews(kKey, {8, 2, 200}));
  filter.Forget(kKey);
  EXPECT_TRUE(filter.IsNews(kKey, {8, 2, 200}));
}

}  // namespace
}  // namespace muster::lifecycle
