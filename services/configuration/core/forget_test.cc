#include "services/configuration/core/forget.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "services/configuration/core/limits.h"
#include "services/configuration/core/strategy.h"

namespace muster::configuration {
namespace {

PoolConfiguration PoolOfRevisions(size_t revisions) {
  PoolConfiguration pool = {.pool_uid = "p"};
  for (size_t i = 0; i < revisions; ++i)
    pool.revisions.push_back({.node_profile = absl::StrCat("np", i)});
  return pool;
}

TEST(ForgetTest, TheOldestRevisionsGo) {
  PoolConfiguration pool = PoolOfRevisions(kMaxRevisions);
  const PoolConfiguration before = pool;
  Forget(pool, {}, 0);
  EXPECT_EQ(pool, before);
  pool = PoolOfRevisions(kMaxRevisions + 3);
  Forget(pool, {}, 0);
  ASSERT_EQ(pool.revisions.size(), kMaxRevisions);
  EXPECT_EQ(pool.revisions.front().node_profile, "np3");
}

// What Nodes run must stay among the revisions: they are counted by it, and it can be rolled back
// to. What is disabled must stay so.
TEST(ForgetTest, WhatNodesRunAndWhatIsDisabledStays) {
  PoolConfiguration pool = PoolOfRevisions(kMaxRevisions + 5);
  pool.revisions[2].disabled = true;
  Forget(pool, {"np0", "unknown"}, 0);
  ASSERT_EQ(pool.revisions.size(), kMaxRevisions);
  for (const char* kept : {"np0", "np2", "np7"}) EXPECT_NE(FindRevision(pool, kept), nullptr);
  for (const char* gone : {"np1", "np3", "np6"}) EXPECT_EQ(FindRevision(pool, gone), nullptr);
  // None may go: there are more.
  pool = PoolOfRevisions(kMaxRevisions + 5);
  std::vector<std::string> running;
  for (const Revision& revision : pool.revisions) running.push_back(revision.node_profile);
  Forget(pool, running, 0);
  EXPECT_EQ(pool.revisions.size(), kMaxRevisions + 5);
  Forget(pool, {}, 0);
  EXPECT_EQ(pool.revisions.size(), kMaxRevisions);
}

TEST(ForgetTest, TheActiveOneStaysThoughNoNodeRunsItYet) {
  PoolConfiguration pool = PoolOfRevisions(kMaxRevisions + 5);
  std::vector<std::string> running;
  for (const Revision& revision : pool.revisions) running.push_back(revision.node_profile);
  running.pop_back();
  const PoolConfiguration before = pool;
  Forget(pool, running, 0);
  EXPECT_EQ(pool, before);
}

}  // namespace
}  // namespace muster::configuration
