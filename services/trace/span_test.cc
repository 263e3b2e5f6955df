#include "services/trace/span.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/common/random_bits.h"

namespace muster::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class KeptSpans final : public Recorder {
 public:
  explicit KeptSpans(double ratio) { SetRecorder(this, ratio); }
  ~KeptSpans() override { SetRecorder(nullptr, 0); }
  void Record(Span span) override { spans.push_back(std::move(span)); }
  std::vector<Span> spans;
};

TraceContext Sampled() {
  TraceContext trace = TraceContext::New();
  trace.flags = TraceContext::kSampled;
  return trace;
}

TEST(IsSampledTest, TakesTheShareThatIsAskedFor) {
  EXPECT_FALSE(IsSampled(0, 0));
  EXPECT_TRUE(IsSampled(~uint64_t{0}, 1));
  EXPECT_TRUE(IsSampled(0, 0.001));
  EXPECT_TRUE(IsSampled((uint64_t{1} << 62) - 1, 0.25));
  EXPECT_FALSE(IsSampled(uint64_t{1} << 62, 0.25));
}

TEST(SpanTest, WithoutARecorderNothingIsSampledOrRecorded) {
  EXPECT_FALSE(Begin().sampled());
  EXPECT_FALSE(Recording(Sampled()));
  Record({.context = Sampled()});
}

TEST(SpanTest, WhatBeginsHereIsSampledByTheRatio) {
  {
    const KeptSpans kept(1);
    EXPECT_TRUE(Begin().sampled());
    EXPECT_TRUE(ChildOf({}).sampled());
  }
  const KeptSpans kept(0);
  EXPECT_FALSE(Begin().sampled());
}

TEST(SpanTest, WhatOthersBeganIsAsTheySay) {
  KeptSpans kept(1);
  const TraceContext unwanted = TraceContext::New();
  EXPECT_FALSE(ChildOf(unwanted).sampled());
  EXPECT_FALSE(Recording(unwanted));
  Record({.context = unwanted});
  EXPECT_THAT(kept.spans, IsEmpty());
  const TraceContext child = ChildOf(Sampled());
  EXPECT_TRUE(Recording(child));
  Record({.name = "it", .context = child});
  ASSERT_EQ(kept.spans.size(), 1u);
  EXPECT_EQ(kept.spans[0].context, child);
}

TEST(WorkTest, IsASpanOfItsCauseAndItsThreadsTrace) {
  KeptSpans kept(0);
  Causes causes;
  const TraceContext cause = Sampled();
  const TraceContext other = Sampled();
  causes.Add(cause);
  causes.Add(other);
  TraceContext within;
  {
    Work work("pass", causes);
    work.Add("pools", 7);
    within = CurrentTrace::Get();
  }
  EXPECT_FALSE(CurrentTrace::Get().valid());
  ASSERT_EQ(kept.spans.size(), 1u);
  const Span& span = kept.spans[0];
  EXPECT_EQ(span.name, "pass");
  EXPECT_EQ(span.context, within);
  EXPECT_EQ(span.context.TraceId(), cause.TraceId());
  EXPECT_EQ(span.parent_span_id, cause.span_id);
  EXPECT_THAT(span.links, ElementsAre(other));
  EXPECT_LE(span.start, span.end);
  EXPECT_EQ(std::get<int64_t>(span.attributes.at(0).value), 7);
}

TEST(WorkTest, WithoutACauseATraceBegins) {
  const KeptSpans kept(0);
  const Work work("pass");
  EXPECT_TRUE(CurrentTrace::Get().valid());
}

TEST(CausesTest, TheFirstIsTheParentAndTheOthersAreNamedOnce) {
  Causes causes;
  EXPECT_FALSE(causes.first().valid());
  const TraceContext a = TraceContext::New();
  const TraceContext b = TraceContext::New();
  for (const TraceContext& cause : {TraceContext(), a, b, a, b, TraceContext()}) causes.Add(cause);
  EXPECT_EQ(causes.first(), a);
  EXPECT_THAT(causes.others(), ElementsAre(b));
}

TEST(CausesTest, OneThatIsSampledComesFirst) {
  Causes causes;
  const TraceContext a = TraceContext::New();
  const TraceContext b = Sampled();
  const TraceContext c = Sampled();
  for (const TraceContext& cause : {a, b, c}) causes.Add(cause);
  EXPECT_EQ(causes.first(), b);
  EXPECT_THAT(causes.others(), ElementsAre(a, c));
}

TEST(CausesTest, SoManyAreNamedAndNoMore) {
  Causes causes;
  for (size_t i = 0; i < 2 * kMaxLinks; ++i) causes.Add(TraceContext::New());
  EXPECT_EQ(causes.others().size(), kMaxLinks);
  causes.Add(Sampled());
  EXPECT_TRUE(causes.first().sampled());
  EXPECT_EQ(causes.others().size(), kMaxLinks);
}

}  // namespace
}  // namespace muster::trace
