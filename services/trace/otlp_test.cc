#include "services/trace/otlp.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace muster::trace {
namespace {

using nlohmann::json;

Span Example() {
  Span span;
  span.name = "muster.quota.v1.QuotaService/SyncHolding";
  span.kind = SpanKind::kServer;
  span.context = *TraceContext::Parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  span.parent_span_id = 0xff;
  span.start = absl::FromUnixNanos(1'700'000'000'000'000'001);
  span.end = absl::FromUnixNanos(1'700'000'000'500'000'000);
  span.attributes = {{"rpc.system", "grpc"}, {"rpc.grpc.status_code", int64_t{14}}};
  span.links = {*TraceContext::Parse("00-0000000000000000000000000000000a-00000000000000bb-00")};
  span.failed = true;
  span.message = "away\nfor now";
  return span;
}

TEST(OtlpTest, IsWhatTheCollectorReads) {
  const std::string line = ToOtlp({"musterd", "0.1.0", "host-1"}, {Example()});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(json::parse(line), json::parse(R"({"resourceSpans": [{
    "resource": {"attributes": [
      {"key": "service.name", "value": {"stringValue": "musterd"}},
      {"key": "service.version", "value": {"stringValue": "0.1.0"}},
      {"key": "service.instance.id", "value": {"stringValue": "host-1"}}]},
    "scopeSpans": [{
      "scope": {"name": "muster", "version": "0.1.0"},
      "spans": [{
        "traceId": "0af7651916cd43dd8448eb211c80319c",
        "spanId": "b7ad6b7169203331",
        "parentSpanId": "00000000000000ff",
        "flags": 1,
        "name": "muster.quota.v1.QuotaService/SyncHolding",
        "kind": 2,
        "startTimeUnixNano": "1700000000000000001",
        "endTimeUnixNano": "1700000000500000000",
        "attributes": [
          {"key": "rpc.system", "value": {"stringValue": "grpc"}},
          {"key": "rpc.grpc.status_code", "value": {"intValue": "14"}}],
        "links": [{"traceId": "0000000000000000000000000000000a", "spanId": "00000000000000bb", "flags": 0}],
        "status": {"code": 2, "message": "away\nfor now"}}]}]}]})"));
}

TEST(OtlpTest, TheFirstSpanOfATraceHasNoParentAndWellDoneNoStatus) {
  Span span = Example();
  span.parent_span_id = 0;
  span.failed = false;
  span.links.clear();
  const json written = json::parse(ToOtlp({}, {span}));
  const json& out = written["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
  EXPECT_FALSE(out.contains("parentSpanId"));
  EXPECT_FALSE(out.contains("links"));
  EXPECT_EQ(out["status"], json({{"code", 0}}));
}

TEST(OtlpTest, WhatIsNotUtf8IsReplaced) {
  Span span = Example();
  span.message = "x\xff";
  EXPECT_NE(ToOtlp({}, {span}).find("x\xef\xbf\xbd"), std::string::npos);
}

}  // namespace
}  // namespace muster::trace
