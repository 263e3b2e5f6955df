#include "services/lifecycle/reconcile/heard_news.h"

#include <gtest/gtest.h>

namespace muster::lifecycle {
namespace {

constexpr char kKey[] = "claims/u1";

TEST(HeardNews, ASnapshotOfWhatWasToldBeforeIsNoNews) {
  HeardNews heard(false);
  heard.BeginSnapshot();
  EXPECT_TRUE(heard.IsNews(kKey, {7, 1, 100}));
  EXPECT_TRUE(heard.IsNews("claims/u2", {8, 1, 100}));
  heard.EndSnapshot();
  heard.BeginSnapshot();
  EXPECT_FALSE(heard.IsNews(kKey, {7, 1, 100}));
  EXPECT_TRUE(heard.IsNews("claims/u2", {9, 1, 100}));  // another machine, it may be
  heard.EndSnapshot();
  // Another history: the same number, another resource.
  EXPECT_TRUE(heard.IsNews(kKey, {7, 1, 101}));
}

TEST(HeardNews, WhatASnapshotLacksIsForgotten) {
  HeardNews heard(false);
  heard.BeginSnapshot();
  EXPECT_TRUE(heard.IsNews(kKey, {7, 1, 100}));
  heard.EndSnapshot();
  heard.BeginSnapshot();
  heard.EndSnapshot();
  EXPECT_TRUE(heard.IsNews(kKey, {7, 1, 100}));
}

TEST(HeardNews, TheEchoOfAnAnswerIsNoNews) {
  HeardNews heard(false);
  EXPECT_TRUE(heard.IsNews(kKey, {7, 1, 100}));
  heard.Asking(kKey);
  EXPECT_FALSE(heard.Answered(kKey, 200));
  EXPECT_FALSE(heard.IsNews(kKey, {8, 2, 200}));
  // Granted since.
  EXPECT_TRUE(heard.IsNews(kKey, {9, 2, 300}));
}

TEST(HeardNews, AnEchoThatComesBeforeTheAnswerIsNoNews) {
  HeardNews heard(false);
  heard.Asking(kKey);
  EXPECT_FALSE(heard.IsNews(kKey, {8, 2, 200}));
  EXPECT_FALSE(heard.Answered(kKey, 200));
}

TEST(HeardNews, NewsDuringARequestWaitAndAreNotLost) {
  HeardNews heard(false);
  heard.Asking(kKey);
  EXPECT_FALSE(heard.IsNews(kKey, {8, 2, 200}));
  EXPECT_FALSE(heard.IsNews(kKey, {9, 2, 300}));
  EXPECT_TRUE(heard.Answered(kKey, 200));
  heard.Asking(kKey);
  EXPECT_FALSE(heard.IsNews(kKey, {10, 2, 400}));
  EXPECT_TRUE(heard.Answered(kKey, 0));  // no answer came
  EXPECT_TRUE(heard.IsNews(kKey, {11, 2, 500}));
}

// A machine broke and another came at once: the claim looks the same, its machines are others.
TEST(HeardNews, AnotherChangeThatLooksTheSameIsNews) {
  HeardNews heard(false);
  heard.Asking(kKey);
  EXPECT_FALSE(heard.Answered(kKey, 200));
  EXPECT_FALSE(heard.IsNews(kKey, {8, 2, 200}));
  EXPECT_TRUE(heard.IsNews(kKey, {9, 2, 200}));
  heard.Asking(kKey);
  EXPECT_FALSE(heard.IsNews(kKey, {10, 2, 200}));
  EXPECT_TRUE(heard.Answered(kKey, 200));
}

TEST(HeardNews, WhereAWatchShowsEverythingTheSameIsTheSame) {
  HeardNews heard(true);
  heard.Asking(kKey);
  EXPECT_FALSE(heard.Answered(kKey, 200));
  EXPECT_FALSE(heard.IsNews(kKey, {8, 2, 200}));
  EXPECT_FALSE(heard.IsNews(kKey, {9, 2, 200}));
  EXPECT_TRUE(heard.IsNews(kKey, {10, 2, 300}));
}

TEST(HeardNews, AnythingAfterADeletionIsNews) {
  HeardNews heard(false);
  EXPECT_TRUE(heard.IsNews(kKey, {8, 2, 200}));
  heard.Forget(kKey);
  EXPECT_TRUE(heard.IsNews(kKey, {8, 2, 200}));
}

}  // namespace
}  // namespace muster::lifecycle
