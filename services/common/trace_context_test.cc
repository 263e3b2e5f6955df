#include "services/common/trace_context.h"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

constexpr char kParent[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

TEST(TraceContextTest, ReadsAndWritesAHeader) {
  const auto trace = TraceContext::Parse(kParent);
  ASSERT_TRUE(trace.has_value());
  EXPECT_EQ(trace->TraceId(), "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(trace->SpanId(), "b7ad6b7169203331");
  EXPECT_TRUE(trace->sampled());
  EXPECT_EQ(trace->ToHeader(), kParent);
  EXPECT_EQ(
      TraceContext::Parse("00-0000000000000000000000000000000a-00000000000000ff-00")->ToHeader(),
      "00-0000000000000000000000000000000a-00000000000000ff-00");
}

TEST(TraceContextTest, AChildIsAnotherSpanOfTheSameTrace) {
  const auto trace = TraceContext::Parse(kParent);
  const TraceContext child = trace->Child();
  EXPECT_EQ(child.TraceId(), trace->TraceId());
  EXPECT_EQ(child.flags, trace->flags);
  EXPECT_NE(child.span_id, trace->span_id);
  EXPECT_TRUE(child.valid());
}

TEST(TraceContextTest, ANewOneIsWholeAndNotSampled) {
  const TraceContext trace = TraceContext::New();
  EXPECT_TRUE(trace.valid());
  EXPECT_FALSE(trace.sampled());
  EXPECT_EQ(TraceContext::Parse(trace.ToHeader()), trace);
  EXPECT_FALSE(TraceContext::New() == trace);
}

TEST(TraceContextTest, LaterVersionsMaySayMore) {
  const std::string later = "cc" + std::string(kParent).substr(2);
  EXPECT_TRUE(TraceContext::Parse(later).has_value());
  EXPECT_TRUE(TraceContext::Parse(later + "-more").has_value());
  EXPECT_FALSE(TraceContext::Parse(later + "more").has_value());
}

TEST(TraceContextTest, RefusesWhatIsNoHeader) {
  for (const char* text : {
           "",
           "00",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
           "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
           "00-00000000000000000000000000000000-b7ad6b7169203331-01",
           "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
           "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0x",
           "00-0af7651916cd43dd +448eb211c80319c-b7ad6b7169203331-01",
           "00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01",
       }) {
    EXPECT_FALSE(TraceContext::Parse(text).has_value()) << text;
  }
}

TEST(CurrentTraceTest, ScopesNest) {
  EXPECT_FALSE(CurrentTrace::Get().valid());
  const TraceContext outer = TraceContext::New();
  {
    const CurrentTrace scope(outer);
    EXPECT_EQ(CurrentTrace::Get(), outer);
    {
      const TraceContext inner = outer.Child();
      const CurrentTrace nested(inner);
      EXPECT_EQ(CurrentTrace::Get(), inner);
    }
    EXPECT_EQ(CurrentTrace::Get(), outer);
  }
  EXPECT_FALSE(CurrentTrace::Get().valid());
}

}  // namespace
}  // namespace muster
