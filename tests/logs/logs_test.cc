// What a program logs and traces, and how it is told what: flags, signals, the operators' listener.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/common/trace_context.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/patience.h"
#include "tests/testing/sockets.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class LogsTest : public ::testing::Test, protected TempFolder {
 protected:
  void Say(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text << "\n";
  }
  // Whole lines so far: the last may be under way.
  std::vector<json> Lines(const std::string& name) const {
    const std::string text = Text(name);
    std::vector<json> lines;
    for (absl::string_view line :
         absl::StrSplit(text.substr(0, text.rfind('\n') + 1), '\n', absl::SkipEmpty()))
      lines.push_back(json::parse(line.begin(), line.end()));
    return lines;
  }
  // Of calls to a method.
  std::vector<json> Calls(const std::string& name, absl::string_view method) const {
    std::vector<json> calls;
    for (json& line : Lines(name)) {
      if (absl::EndsWith(line.value("method", ""), absl::StrCat("/", method)))
        calls.push_back(std::move(line));
    }
    return calls;
  }
  void AwaitText(const std::string& name, const std::string& text) const {
    Until([&] { return absl::StrContains(Text(name), text); }, text.c_str());
  }
};

TEST_F(LogsTest, AMutationIsOneLineAndWhoAsksBeforeItIsNone) {
  MiniMuster muster({.musterd_flags = {"--log_file=" + Path("log")}});
  muster.ApplyCatalogue();
  muster.ApplyExample();
  ASSERT_TRUE(muster.AwaitSettled(1)) << muster.LogEnds();
  Until([&] { return !Calls("log", "ApplyNodePool").empty(); }, "the line of ApplyNodePool");
  const std::vector<json> applied = Calls("log", "ApplyNodePool");
  ASSERT_EQ(applied.size(), 1u);
  const json& line = applied[0];
  EXPECT_EQ(line["level"], "info");
  EXPECT_EQ(line["code"], "OK");
  EXPECT_EQ(line["method"], "/muster.lifecycle.v1.LifecycleService/ApplyNodePool");
  EXPECT_EQ(line["resource"], MiniMuster::kPool);
  EXPECT_THAT(line["user_agent"].get<std::string>(), HasSubstr("musterctl/"));
  EXPECT_EQ(line["principal"], "local");
  EXPECT_THAT(line["peer"].get<std::string>(), HasSubstr("127.0.0.1"));
  EXPECT_GT(line["duration_ms"], 0);
  EXPECT_FALSE(line["request_id"].get<std::string>().empty());
  EXPECT_EQ(line["trace_id"].get<std::string>().size(), 32u);
  EXPECT_THAT(Text("log"), Not(HasSubstr("NotFound")));
  EXPECT_THAT(Text("log"), Not(HasSubstr("/Get")));
  // A batch says how many, and the first of them.
  const std::vector<json> machines = Calls("log", "BatchRegisterMachines");
  ASSERT_FALSE(machines.empty());
  EXPECT_EQ(machines[0]["resources"].size(), 3u);
  EXPECT_GT(machines[0]["resource_count"], 3);
  // Who is refused, and why.
  EXPECT_NE(muster.Ctl({"promote", "example-nodepool"}).exit_code, 0);
  Until([&] { return !Calls("log", "PromoteConfiguration").empty(); }, "the refusal");
  EXPECT_EQ(Calls("log", "PromoteConfiguration")[0]["level"], "info");
  EXPECT_FALSE(Calls("log", "PromoteConfiguration")[0]["error"].get<std::string>().empty());
}

TEST_F(LogsTest, TheLevelIsSetAtStartAndAtRunTime) {
  MiniMuster muster({.musterd_flags = {"--log_file=" + Path("log"), "--log_level=warning"}});
  muster.ApplyCatalogue();
  EXPECT_EQ(muster.Ctl({"debug", "log-level"}).output, "log level: warning\n");
  EXPECT_THAT(Text("log"), Not(HasSubstr("UpdateZone")));
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(muster.Ctl({"debug", "log-level", "debug"}).output, "log level: debug\n");
  EXPECT_EQ(muster.Ctl({"debug", "log-level"}).output, "log level: debug\n");
  AwaitText("log", "GetLogLevel");
  EXPECT_EQ(muster.Ctl({"debug", "log-level", "error"}).output, "log level: error\n");
  EXPECT_NE(muster.Ctl({"debug", "log-level", "loud"}).exit_code, 0);
}

TEST_F(LogsTest, FlagsAreChecked) {
  for (const char* program : {"musterd serve", "fleetsim", "muster-kubernetes"}) {
    const std::vector<std::string> words = absl::StrSplit(program, ' ');
    const std::string help = RunProgram({Binary(words[0]), "--help"}).output;
    for (const char* flag : {"--log_level", "--log_file", "--trace_file", "--trace_endpoint"})
      EXPECT_THAT(help, HasSubstr(flag)) << program;
    std::vector<std::string> command = words;
    command[0] = Binary(words[0]);
    command.insert(command.end(), {"--log_level=LOUD", "--trace_sample=2"});
    const Finished finished = RunProgram(command);
    EXPECT_NE(finished.exit_code, 0) << program;
    EXPECT_THAT(finished.output, HasSubstr("--log_level")) << program;
    EXPECT_THAT(finished.output, HasSubstr("--trace_sample")) << program;
  }
}

// As logrotate does it: `create` makes the new file, then the program is told.
TEST_F(LogsTest, AHangUpRotatesAndReadsAgainAndKillsNobody) {
  Say("level", "error");
  MiniMuster muster(
      {.musterd_flags = {"--log_file=" + Path("log"), "--log_level_file=" + Path("level"),
                         "--trace_file=" + Path("spans")}});
  muster.ApplyCatalogue();
  EXPECT_THAT(Text("log"), Not(HasSubstr("UpdateZone")));
  Say("level", "info");
  for (const char* name : {"log", "spans"}) {
    std::filesystem::rename(Path(name), Path(absl::StrCat(name, ".1")));
    Say(name, "{}");
  }
  muster.Signal(SIGHUP);
  AwaitText("log", "files were read and opened again");
  const std::string before = Text("log.1");
  muster.ApplyCatalogue();
  AwaitText("log", "UpdateZone");
  AwaitText("spans", "UpdateZone");
  EXPECT_EQ(Text("log.1"), before);
  // A level that is none is told, and the one before stays.
  Say("level", "loud");
  muster.Signal(SIGHUP);
  AwaitText("log", "must say debug, info, warning or error");
  EXPECT_TRUE(muster.Runs());
  EXPECT_TRUE(muster.IsServing());
  EXPECT_EQ(muster.CompareStates(), "");
  EXPECT_EQ(muster.Terminate(), 0);
  EXPECT_THAT(Text("log"), HasSubstr("\"stopped\""));
}

struct Spans {
  std::map<std::string, json> by_id = {};

  // The names of a span and of what it was done for, up to the first.
  std::vector<std::string> LineOf(const json& span) const {
    std::vector<std::string> line = {span["name"]};
    for (auto it = by_id.find(span.value("parentSpanId", "")); it != by_id.end();
         it = by_id.find(it->second.value("parentSpanId", "")))
      line.push_back(it->second["name"]);
    return line;
  }
};

Spans SpansOf(const std::vector<json>& lines, const std::string& trace_id) {
  Spans spans;
  for (const json& line : lines) {
    for (const json& resource : line["resourceSpans"]) {
      for (const json& span : resource["scopeSpans"][0]["spans"]) {
        if (span["traceId"] == trace_id) spans.by_id[span["spanId"]] = span;
      }
    }
  }
  return spans;
}

// One order through four processes and the work that it causes in the background.
TEST_F(LogsTest, OneTraceGoesThroughAllThatAnOrderCauses) {
  MiniMuster muster({.processes = {"capacity", "quota", "configuration", "lifecycle"},
                     .musterd_flags = {"--trace_file=" + Path("spans"), "--trace_sample=0"}});
  muster.ApplyCatalogue();
  muster.ApplyExample();
  ASSERT_TRUE(muster.AwaitSettled(1)) << muster.LogEnds();
  TraceContext order = TraceContext::New();
  order.flags = TraceContext::kSampled;
  setenv("TRACEPARENT", order.ToHeader().c_str(), 1);
  const Finished scaled = muster.Ctl({"scale", "nodepool", "example-nodepool", "--nodes=3"});
  unsetenv("TRACEPARENT");
  ASSERT_EQ(scaled.exit_code, 0) << scaled.output;
  ASSERT_TRUE(muster.AwaitSettled(3)) << muster.LogEnds();
  for (size_t process = 0; process < muster.processes(); ++process)
    EXPECT_EQ(muster.Terminate(process), 0);

  const Spans spans = SpansOf(Lines("spans"), order.TraceId());
  std::map<std::string, std::vector<std::string>> lines;  // by the first word of each
  for (const auto& [id, span] : spans.by_id) {
    const std::string parent = span.value("parentSpanId", "");
    EXPECT_TRUE(parent == order.SpanId() || spans.by_id.count(parent) == 1)
        << span["name"] << " is of nobody: " << parent;
    EXPECT_LE(span["startTimeUnixNano"].get<std::string>(),
              span["endTimeUnixNano"].get<std::string>());
    lines[span["name"]] = spans.LineOf(span);
  }
  const std::string ordered = "muster.lifecycle.v1.LifecycleService/ResizeNodePool";
  for (const char* name : {"commit lifecycle", "lifecycle reconcile pass", "commit quota",
                           "commit capacity", "muster.quota.v1.QuotaService/BatchSyncHoldings",
                           "muster.capacity.v1.CapacityService/BatchSyncClaims"}) {
    ASSERT_EQ(lines.count(name), 1u) << name;
    EXPECT_EQ(lines[name].back(), ordered) << name;
  }
  const auto& in_quota = lines["commit quota"];
  EXPECT_NE(std::find(in_quota.begin(), in_quota.end(), "lifecycle reconcile pass"),
            in_quota.end());
}

TEST_F(LogsTest, WhatIsLeftOutIsCounted) {
  MiniMuster muster(MiniMuster::Options{.musterd_flags = {"--log_file=/dev/full"}});
  muster.ApplyCatalogue();
  Until(
      [&] {
        const std::string page = HttpGet(muster.metrics_address(), "/metrics", absl::Seconds(30));
        return absl::StrContains(page, "\nmuster_log_lines_left_out_total ") &&
               !absl::StrContains(page, "\nmuster_log_lines_left_out_total 0\n");
      },
      "lines that are left out");
}

}  // namespace
}  // namespace muster::testing
