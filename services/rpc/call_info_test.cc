#include "services/rpc/call_info.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace muster::rpc {
namespace {

constexpr char kParent[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

TEST(TraceContextTest, ReadsAndWritesTheHeader) {
  const auto trace = TraceContext::Parse(kParent);
  ASSERT_TRUE(trace.has_value());
  EXPECT_EQ(trace->trace_id, "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(trace->span_id, "b7ad6b7169203331");
  EXPECT_EQ(trace->flags, 1);
  EXPECT_EQ(trace->ToHeader(), kParent);
}

TEST(TraceContextTest, AChildIsANewSpanOfTheTrace) {
  const auto trace = TraceContext::Parse(kParent);
  const TraceContext child = trace->Child();
  EXPECT_EQ(child.trace_id, trace->trace_id);
  EXPECT_EQ(child.flags, trace->flags);
  EXPECT_NE(child.span_id, trace->span_id);
  EXPECT_TRUE(TraceContext::Parse(child.ToHeader()).has_value());
}

TEST(TraceContextTest, ALaterVersionMaySayMore) {
  EXPECT_TRUE(TraceContext::Parse("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more")
                  .has_value());
}

TEST(TraceContextTest, RefusesWhatIsNotOne) {
  for (const char* text : {"", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
                           "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
                           "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                           "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
                           "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
                           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0x",
                           "00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01"}) {
    EXPECT_FALSE(TraceContext::Parse(text).has_value()) << text;
  }
}

TEST(NewIdTest, IsFifteenHexDigitsAndNew) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = NewId();
    EXPECT_EQ(id.size(), 15u);
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 1000u);
}

}  // namespace
}  // namespace muster::rpc
