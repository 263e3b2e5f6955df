#include "services/common/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "services/common/trace_context.h"

namespace muster::log {
namespace {

using nlohmann::json;

class LogTest : public ::testing::Test {
 protected:
  LogTest() {
    SetLevel(Level::kInfo);
    SetSink([this](absl::string_view line) { lines_.emplace_back(line); });
  }
  ~LogTest() override {
    SetSink({});
    SetLevel(Level::kInfo);
  }

  json Last() const { return json::parse(lines_.back()); }

  std::vector<std::string> lines_;
};

TEST_F(LogTest, WritesOneObjectALineWithFieldsInTheirOrder) {
  const std::string name = "train";
  Info("pool planned", {{"pool", name}, {"nodes", 5}, {"dry", true}, {"load", 0.5}});
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_TRUE(absl::EndsWith(lines_[0], R"("level":"info","msg":"pool planned","pool":"train",)"
                                        R"("nodes":5,"dry":true,"load":0.5})"))
      << lines_[0];
  EXPECT_THAT(Last()["ts"].get<std::string>(),
              ::testing::MatchesRegex("[0-9]+-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9]+\\.[0-9]+Z"));
  EXPECT_EQ(Last()["ts"].get<std::string>().size(),
            std::string("2026-01-02T03:04:05.678901Z").size());
}

TEST_F(LogTest, WritesEveryKindOfValue) {
  Warn("kinds", {{"min", std::numeric_limits<int64_t>::min()},
                 {"max", std::numeric_limits<uint64_t>::max()},
                 {"view", absl::string_view("v")},
                 {"literal", "l"},
                 {"took", absl::Milliseconds(1500)},
                 {"at", absl::FromUnixMicros(1'000'001)},
                 {"status", absl::NotFoundError("gone")},
                 {"nan", std::nan("")}});
  EXPECT_EQ(Last()["min"], std::numeric_limits<int64_t>::min());
  EXPECT_EQ(Last()["max"], std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(Last()["view"], "v");
  EXPECT_EQ(Last()["literal"], "l");
  EXPECT_EQ(Last()["took"], 1.5);
  EXPECT_EQ(Last()["at"], "1970-01-01T00:00:01.000001Z");
  EXPECT_EQ(Last()["status"], "NOT_FOUND: gone");
  EXPECT_TRUE(Last()["nan"].is_null());
}

TEST_F(LogTest, EscapesWhatJsonCannotHold) {
  Error("odd", {{"text", absl::string_view("a\"b\\c\n\t\x01\0z", 10)}, {"bytes", "x\xff\xc3y"}});
  ASSERT_EQ(lines_.back().find('\n'), std::string::npos);
  EXPECT_EQ(Last()["text"], std::string("a\"b\\c\n\t\x01\0z", 10));
  EXPECT_EQ(Last()["bytes"], "x\xef\xbf\xbd\xef\xbf\xbdy");
}

// DEL, C1 controls, and marks of direction: whoever reads the log on a terminal sees them, and is
// not acted on.
TEST_F(LogTest, EscapesWhatATerminalActsOn) {
  const std::string text = "\x7f\u009b2J\u00a0\u202e\u2069\u061c\u20ac\U0001f600";
  Error("odd", {{"text", text}});
  EXPECT_THAT(
      lines_.back(),
      ::testing::HasSubstr("\"\\u007f\\u009b2J\u00a0\\u202e\\u2069\\u061c\u20ac\U0001f600\""));
  EXPECT_EQ(Last()["text"], text);
}

TEST_F(LogTest, BoundsWhatACallerMayWrite) {
  const std::string long_text =
      std::string(kMaxTextBytes - 1, 'x') + "\u00e4" + std::string(100, 'y');
  Info("long", {{"text", long_text}});
  EXPECT_EQ(Last()["text"], std::string(kMaxTextBytes - 1, 'x') + "... (" +
                                std::to_string(long_text.size()) + " bytes)");
  const std::string fits(kMaxTextBytes, 'x');
  Info("fits", {{"text", fits}});
  EXPECT_EQ(Last()["text"], fits);
}

TEST_F(LogTest, WritesLists) {
  const std::vector<std::string> names = {"a", "b\n"};
  Info("list", {{"names", names}, {"none", std::vector<std::string>()}});
  EXPECT_EQ(Last()["names"], json({"a", "b\n"}));
  EXPECT_EQ(Last()["none"], json::array());
}

TEST_F(LogTest, LinesBearTheTraceOfTheirThread) {
  Info("outside");
  EXPECT_FALSE(Last().contains("trace_id"));
  const TraceContext trace = TraceContext::New();
  const CurrentTrace scope(trace);
  Info("inside");
  EXPECT_EQ(Last()["trace_id"], trace.TraceId());
  EXPECT_EQ(Last()["span_id"], trace.SpanId());
}

TEST_F(LogTest, DropsWhatIsBelowTheLevel) {
  Debug("no");
  EXPECT_TRUE(lines_.empty());
  SetLevel(Level::kDebug);
  Debug("yes");
  EXPECT_EQ(lines_.size(), 1u);
  SetLevel(Level::kError);
  Warn("no");
  EXPECT_EQ(lines_.size(), 1u);
  Error("yes");
  EXPECT_EQ(lines_.size(), 2u);
  EXPECT_TRUE(Enabled(Level::kError));
  EXPECT_FALSE(Enabled(Level::kWarn));
}

TEST_F(LogTest, ParsesLevels) {
  EXPECT_EQ(ParseLevel("debug"), Level::kDebug);
  EXPECT_EQ(ParseLevel("warn"), Level::kWarn);
  EXPECT_EQ(ParseLevel("warning"), Level::kWarn);
  EXPECT_EQ(ParseLevel("error"), Level::kError);
  EXPECT_EQ(ParseLevel("ERROR"), std::nullopt);
  EXPECT_EQ(ParseLevel(""), std::nullopt);
}

TEST_F(LogTest, LinesOfManyThreadsDoNotMix) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      for (int i = 0; i < 250; ++i) Info("line", {{"thread", thread}, {"i", i}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(lines_.size(), 1000u);
  std::vector<int> next(4, 0);
  for (const std::string& line : lines_) {
    const json parsed = json::parse(line);
    EXPECT_EQ(parsed["i"], next[parsed["thread"].get<size_t>()]++);
  }
}

TEST(LogStderrTest, GoesToStderrByDefault) {
  ::testing::internal::CaptureStderr();
  Info("braces {} stay", {{"k", "{}"}});
  const std::string text = ::testing::internal::GetCapturedStderr();
  ASSERT_TRUE(absl::EndsWith(text, "\n"));
  EXPECT_EQ(json::parse(text)["msg"], "braces {} stay");
}

}  // namespace
}  // namespace muster::log
