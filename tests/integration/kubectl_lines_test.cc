// kubectl_lines.txt: what a person with kubectl in the fingers types, and what comes back, on a
// real stack.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/integration/mini_muster.h"

namespace muster::testing {
namespace {

// A line for a shell, in which `k` is musterctl, and what it answers; the last line is `exit N`
// where N is not 0.
struct Said {
  std::string line = {};
  std::string answer = {};
};

std::string ScriptPath() { return MUSTER_KUBECTL_LINES; }

// `$ LINE`, then the answer, up to the next `$ `. What stands before the first is a comment.
std::vector<Said> ReadScript(std::string& head) {
  std::vector<Said> script;
  std::ifstream in(ScriptPath());
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("$ ", 0) == 0) {
      script.push_back({line.substr(2), ""});
    } else {
      absl::StrAppend(script.empty() ? &head : &script.back().answer, line, "\n");
    }
  }
  return script;
}

// What differs from run to run: machines, uids, profiles, times, ages, revisions; and the widths of
// columns with them.
std::string Masked(std::string text) {
  const std::pair<const char*, const char*> masks[] = {
      {R"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})", "UID"},
      {R"(\bnp-[0-9a-f]{12}\b)", "PROFILE"},
      {R"(\bg[0-9a-f]{6}\b)", "MACHINE"},
      {R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z)", "TIME"},
      // One that could be read as a number is quoted.
      {R"re((resourceVersion"?: )"?[0-9a-f]+"?)re", "$01VERSION"},
      {R"((Resource Version: +)[0-9a-f]+)", "$01VERSION"},
      {R"(127\.0\.0\.1:\d+)", "SERVER"},
      {R"(\(([0-9a-f]{12}(-dirty)?|unknown)\))", "(COMMIT)"},
      {R"((\s|^)(\d+m)?\d+(\.\d)?[ms]\b)", "$01AGE"},
      {R"(  +)", "  "},
      {R"( +\n)", "\n"}};
  for (const auto& [pattern, by] : masks) text = std::regex_replace(text, std::regex(pattern), by);
  return text;
}

std::string AnswerTo(const std::string& line, const std::string& server) {
  const Finished finished =
      RunProgram({"/bin/bash", "-c",
                  absl::StrCat("export MUSTER_SERVER=", server,
                               " MUSTER_CONFIG=/nonexistent/config.yaml; k() { ",
                               Binary("musterctl"), " \"$@\"; }\n", line)});
  std::string answer = Masked(finished.output);
  if (!answer.empty() && answer.back() != '\n') absl::StrAppend(&answer, "\n");
  if (finished.exit_code != 0) absl::StrAppend(&answer, "exit ", finished.exit_code, "\n");
  return answer;
}

// With MUSTER_RECORD set the answers are written down instead of compared.
TEST(KubectlLinesTest, EveryLineAnswersAsWritten) {
  MiniMuster muster;
  muster.ApplyCatalogue();
  muster.ApplyExample();
  ASSERT_TRUE(muster.AwaitSettled(1));
  std::string head;
  std::vector<Said> script = ReadScript(head);
  ASSERT_GE(script.size(), 100u);
  const bool record = std::getenv("MUSTER_RECORD") != nullptr;
  for (Said& said : script) {
    const std::string answer = AnswerTo(said.line, muster.address());
    if (record) {
      said.answer = answer;
    } else {
      EXPECT_EQ(answer, said.answer) << said.line;
    }
  }
  if (!record) return;
  std::ofstream out(ScriptPath());
  out << head;
  for (const Said& said : script) out << "$ " << said.line << "\n" << said.answer;
}

}  // namespace
}  // namespace muster::testing
