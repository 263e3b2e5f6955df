#include "storage/postgres/commit_traces.h"

#include <gtest/gtest.h>

namespace muster::storage {
namespace {

TEST(CommitTracesTest, KnowsWhoMadeAChangeWhileItIsPublished) {
  const TraceContext a = TraceContext::New();
  const TraceContext b = TraceContext::New();
  CommitTraces traces;
  traces.Add(7, a);
  traces.Add(8, {});
  traces.Add(11, b);
  EXPECT_FALSE(CommitTraces::Of(7).valid());
  {
    const CommitTraces::Publishing publishing(traces);
    EXPECT_EQ(CommitTraces::Of(6), a);
    EXPECT_EQ(CommitTraces::Of(7), a);
    EXPECT_FALSE(CommitTraces::Of(8).valid());
    EXPECT_EQ(CommitTraces::Of(9), b);
    EXPECT_EQ(CommitTraces::Of(11), b);
    EXPECT_FALSE(CommitTraces::Of(12).valid());
  }
  EXPECT_FALSE(CommitTraces::Of(7).valid());
  traces.Clear();
  EXPECT_FALSE(traces.Find(7).valid());
}

}  // namespace
}  // namespace muster::storage
