// The rules and dashboards of deploy/observability: that they hold together, and with what servers
// show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/integration/child.h"
#include "tests/observability/alert_rules.h"
#include "tests/observability/dashboards.h"
#include "tests/observability/expressions.h"
#include "tests/observability/on_call.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kFolder[] = MUSTER_SOURCE_DIR "/deploy/observability/";
constexpr char kUpdate[] =
    "MUSTER_WRITE_DASHBOARDS=1 ctest --preset dev -R '^observability_files_test$'";

// Every rule of a file.
std::vector<YAML::Node> RulesOf(const std::string& file) {
  std::vector<YAML::Node> rules;
  const YAML::Node read = YAML::LoadFile(absl::StrCat(kFolder, "rules/", file));
  for (const auto& group : read["groups"])
    for (const auto& rule : group["rules"]) rules.push_back(rule);
  return rules;
}

// What there is to ask for: the reference, what rules record, and what Prometheus itself says.
std::set<std::string> KnownMetrics() {
  std::set<std::string> known = {"up"};
  for (const absl::string_view line :
       absl::StrSplit(ReadFile(absl::StrCat(kFolder, "metrics.md")), '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, '`');
    if (absl::StartsWith(line, "| `")) known.emplace(words[1]);
  }
  for (const YAML::Node& rule : RulesOf("recording.yaml"))
    known.insert(rule["record"].as<std::string>());
  return known;
}

void ExpectKnown(const std::string& expression, const std::string& where) {
  static const auto& known = *new std::set<std::string>(KnownMetrics());
  for (const std::string& metric : MetricsOf(expression)) {
    EXPECT_TRUE(known.contains(metric) || known.contains(FamilyOf(metric)))
        << where << " asks for " << metric << ", which metrics.md does not have";
  }
}

void ExpectDone(const std::string& command) {
  const Finished done =
      RunProgram({"/bin/sh", "-c", absl::StrCat("cd '", kFolder, "rules' && ", command)});
  EXPECT_EQ(done.exit_code, 0) << command << " (deploy/install-packages has promtool)\n"
                               << done.output;
}

// Routes and inhibitions name alerts that there are, and severities that they have.
TEST(Routes, AreAsAlertmanagerWants) { ExpectDone("amtool check-config ../alertmanager.yml"); }
TEST(Routes, WakeForPagesAlone) {
  const auto goes_to = [](const std::string& labels) {
    return RunProgram({"/usr/bin/amtool", "config", "routes", "test",
                       absl::StrCat("--config.file=", kFolder, "alertmanager.yml"), labels})
        .output;
  };
  EXPECT_THAT(goes_to("severity=page"), HasSubstr("pager"));
  EXPECT_THAT(goes_to("severity=ticket"), HasSubstr("tickets"));
}
TEST(Routes, KnowTheAlertsThatTheySilence) {
  std::set<std::string> names;
  for (const YAML::Node& rule : RulesOf("alerts.yaml"))
    names.insert(rule["alert"].as<std::string>());
  const YAML::Node routes = YAML::LoadFile(absl::StrCat(kFolder, "alertmanager.yml"));
  for (const auto& rule : routes["inhibit_rules"]) {
    for (const char* side : {"source_matchers", "target_matchers"}) {
      const std::vector<std::string> words = absl::StrSplit(
          rule[side][0].as<std::string>(), absl::ByAnyChar("=~\"|"), absl::SkipEmpty());
      ASSERT_GT(words.size(), 1u) << side;
      EXPECT_EQ(words[0], "alertname");
      for (size_t i = 1; i < words.size(); ++i)
        EXPECT_TRUE(names.contains(words[i])) << words[i] << " is no alert";
    }
  }
}

TEST(Rules, AreAsPrometheusWants) { ExpectDone("promtool check rules recording.yaml alerts.yaml"); }
TEST(Rules, FireWhenTheyShould) { ExpectDone("promtool test rules tests.yaml"); }

TEST(Rules, AskForWhatServersShow) {
  for (const YAML::Node& rule : RulesOf("recording.yaml"))
    ExpectKnown(rule["expr"].as<std::string>(), rule["record"].as<std::string>());
  for (const YAML::Node& rule : RulesOf("alerts.yaml"))
    ExpectKnown(rule["expr"].as<std::string>(), rule["alert"].as<std::string>());
}

TEST(Rules, SayWhoMustDoWhat) {
  const std::string runbook = ReadFile(MUSTER_SOURCE_DIR "/deploy/runbook.md");
  std::set<std::string> names;
  for (const YAML::Node& rule : RulesOf("alerts.yaml")) {
    const auto name = rule["alert"].as<std::string>();
    SCOPED_TRACE(name);
    EXPECT_TRUE(names.insert(name).second) << "twice";
    const auto severity = rule["labels"]["severity"].as<std::string>("");
    EXPECT_TRUE(severity == "page" || severity == "ticket") << severity;
    EXPECT_NE(rule["labels"]["service"].as<std::string>(""), "");
    EXPECT_NE(rule["annotations"]["summary"].as<std::string>(""), "");
    EXPECT_NE(rule["annotations"]["description"].as<std::string>(""), "");
    EXPECT_EQ(rule["annotations"]["runbook"].as<std::string>(""),
              absl::StrCat("deploy/runbook.md#", absl::AsciiStrToLower(name)));
    EXPECT_THAT(runbook, HasSubstr(absl::StrCat("\n## ", name, "\n\n")));
  }
  for (const absl::string_view line : absl::StrSplit(runbook, '\n')) {
    if (!absl::StartsWith(line, "## Muster")) continue;
    EXPECT_TRUE(names.contains(std::string(line.substr(3)))) << line << " is no alert";
  }
}

// What people are told to ask Prometheus is there; of a histogram only its series are.
TEST(Rules, SayQueriesThatHaveData) {
  const std::string reference = ReadFile(absl::StrCat(kFolder, "metrics.md"));
  for (const YAML::Node& rule : RulesOf("alerts.yaml")) {
    const auto name = rule["alert"].as<std::string>();
    for (const std::string& query : LooksOf(RunbookOf(name)).queries) {
      ExpectKnown(query, name);
      for (const std::string& metric : MetricsOf(query))
        EXPECT_FALSE(absl::StrContains(reference, absl::StrCat("| `", metric, "` | histogram")))
            << name << ": " << metric;
    }
  }
}

// What people are told to type is a command: musterctl refuses none of it before it asks.
TEST(Rules, SayCommandsThatThereAre) {
  static const std::regex& command = *new std::regex("`musterctl ([^`]*)`");
  static const std::regex& number = *new std::regex("=N\\b");
  std::vector<std::future<void>> commands;
  for (const char* file : {"runbook.md", "after-a-restore.md", "logs-and-traces.md"}) {
    const std::string text = ReadFile(absl::StrCat(MUSTER_SOURCE_DIR "/deploy/", file));
    for (std::sregex_iterator it(text.begin(), text.end(), command), end; it != end; ++it) {
      const std::string words = std::regex_replace((*it)[1].str(), number, "=1");
      std::vector<std::string> run = {"/usr/bin/env", "MUSTER_SERVER=127.0.0.1:1",
                                      "MUSTER_OPERATOR_SERVER=127.0.0.1:1", Binary("musterctl"),
                                      "--timeout=1ms"};
      for (const absl::string_view word : absl::StrSplit(words, ' ')) run.emplace_back(word);
      // Each waits for a server that there is not.
      commands.push_back(std::async(std::launch::async, [run, words, file] {
        const Finished said = RunProgram(run);
        EXPECT_EQ(said.exit_code, 1) << file << ": musterctl " << words << "\n" << said.output;
      }));
    }
  }
  EXPECT_GT(commands.size(), 20u);
}

// Of musterd likewise: with the package's settings a command comes as far as a database, which
// there is not.
TEST(Rules, SayMigrationsThatRunAsTheyStand) {
  static const std::regex& command =
      *new std::regex("`(?:runuser -u muster -- )?musterd migrate ([^`]*)`");
  const TempFolder folder;
  std::ofstream(folder.Path("migrate.flags"))
      << absl::StrReplaceAll(ReadFile(MUSTER_SOURCE_DIR "/deploy/packages/migrate.flags"),
                             {{"=/usr/share/muster/", "=" MUSTER_SOURCE_DIR "/"},
                              {"=host=/run/postgresql", "=host=/nowhere"}});
  int commands = 0;
  for (const char* file : {"runbook.md", "after-a-restore.md", "high-availability.md", "install.md",
                           "logs-and-traces.md"}) {
    const std::string text = ReadFile(absl::StrCat(MUSTER_SOURCE_DIR "/deploy/", file));
    for (std::sregex_iterator it(text.begin(), text.end(), command), end; it != end; ++it) {
      ++commands;
      const std::string words =
          absl::StrReplaceAll((*it)[1].str(), {{"/etc/muster/", folder.Path("")}});
      std::vector<std::string> run = {Binary("musterd"), "migrate"};
      for (const absl::string_view word : absl::StrSplit(words, ' ')) run.emplace_back(word);
      EXPECT_THAT(RunProgram(run).output, HasSubstr("The database does not take connections"))
          << file << ": musterd migrate " << words;
    }
  }
  EXPECT_GT(commands, 1);
}

// Of each alert one case in which it fires, and one in which it does not.
TEST(Rules, AreTestedBothWays) {
  std::map<std::string, std::set<bool>> cases;
  const YAML::Node tests = YAML::LoadFile(absl::StrCat(kFolder, "rules/tests.yaml"));
  for (const auto& test : tests["tests"]) {
    for (const auto& asked : test["promql_expr_test"]) {
      const auto expression = asked["expr"].as<std::string>();
      const std::vector<std::string> words = absl::StrSplit(expression, '"');
      ASSERT_THAT(expression, HasSubstr("ALERTS{alertname=\""));
      ASSERT_THAT(expression, HasSubstr("alertstate=\"firing\""));
      cases[words[1]].insert(asked["exp_samples"].size() > 0);
    }
  }
  for (const YAML::Node& rule : RulesOf("alerts.yaml")) {
    const auto name = rule["alert"].as<std::string>();
    EXPECT_EQ(cases[name].size(), 2u) << name << ": one case that fires, one that does not";
    cases.erase(name);
  }
  for (const auto& entry : cases) ADD_FAILURE() << entry.first << " is tested, and no alert";
}

// The sources of the drills, one after the other.
std::string DrillSources() {
  std::string sources;
  for (const char* faults : {"server", "database", "fleet", "adapter"})
    sources += ReadFile(
        absl::StrCat(MUSTER_SOURCE_DIR "/tests/observability/", faults, "_faults_test.cc"));
  return sources;
}

// What stands in quotes behind `.field = ` in them, a line each.
std::vector<std::string> DrillTexts(const std::string& field) {
  const std::regex text(absl::StrCat("\\.", field, R"re( =\s+"((?:[^"\\]|\\.)*)")re"));
  const std::string sources = DrillSources();
  std::vector<std::string> texts;
  for (std::sregex_iterator it(sources.begin(), sources.end(), text), end; it != end; ++it)
    texts.push_back(absl::StrReplaceAll((*it)[1].str(), {{"\\\"", "\""}}));
  return texts;
}

// Every alert is fired by a real fault.
TEST(Rules, AreDrilled) {
  static const std::regex& list = *new std::regex(R"re(\.alerts = \{([^}]*)\})re");
  static const std::regex& name = *new std::regex("Muster[A-Za-z]+");
  std::set<std::string> drilled;
  const std::string sources = DrillSources();
  for (std::sregex_iterator it(sources.begin(), sources.end(), list), end; it != end; ++it) {
    const std::string alerts = (*it)[1];
    for (std::sregex_iterator word(alerts.begin(), alerts.end(), name); word != end; ++word)
      drilled.insert(word->str());
  }
  for (const AlertRule& rule : AlertRulesOf(absl::StrCat(kFolder, "rules/alerts.yaml")))
    EXPECT_EQ(drilled.erase(rule.name), 1u) << rule.name << ": no fault fires it";
  for (const std::string& alert : drilled) ADD_FAILURE() << alert << " is drilled, and no alert";
}

// The drills' own check of it takes half an hour; this one sees that somebody wrote another
// runbook, or renamed a panel.
TEST(Rules, AreDrilledByTheRunbookAndBeforeAPanel) {
  const std::string runbook = OneLine(ReadFile(MUSTER_SOURCE_DIR "/deploy/runbook.md"));
  const std::vector<std::string> words = DrillTexts("runbook");
  EXPECT_GT(words.size(), 20u);
  for (const std::string& said : words)
    EXPECT_TRUE(absl::StrContains(runbook, said)) << "the runbook does not say: " << said;
  std::set<std::string> panels;
  const Dashboards dashboards(absl::StrCat(kFolder, "dashboards.yaml"));
  for (const Query& query : dashboards.queries())
    panels.insert(absl::StrCat(query.dashboard, ": ", query.panel));
  const std::vector<std::string> shown = DrillTexts("panel");
  EXPECT_GT(shown.size(), words.size());
  for (const std::string& panel : shown)
    EXPECT_TRUE(panels.contains(absl::StrCat("Muster / ", panel))) << panel << " is no panel";
}

// What people are told to find in a log, some program of ours writes.
TEST(Rules, SayMessagesThatThereAre) {
  static const std::regex& seam = *new std::regex("\"\\s*\n\\s*\"");
  std::string sources;
  for (const char* folder : {"/services", "/storage"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(absl::StrCat(MUSTER_SOURCE_DIR, folder))) {
      const std::string path = entry.path().string();
      if (absl::StrContains(path, "_test") || absl::StrContains(path, "/testing/") ||
          (!absl::EndsWith(path, ".cc") && !absl::EndsWith(path, ".h")))
        continue;
      const std::string text = ReadFile(path);
      if (absl::StrContains(text, "log::")) sources += std::regex_replace(text, seam, "");
    }
  }
  int messages = 0;
  for (const AlertRule& rule : AlertRulesOf(absl::StrCat(kFolder, "rules/alerts.yaml"))) {
    for (const std::string& message : LooksOf(RunbookOf(rule.name)).messages) {
      ++messages;
      EXPECT_TRUE(absl::StrContains(sources, message))
          << rule.name << ": nobody logs \"" << message << "\"";
    }
  }
  EXPECT_GT(messages, 10);
}

// A new alert is measured, too; what there was when it was measured stays.
TEST(Measured, HasEveryAlert) {
  const std::string measured = ReadFile(absl::StrCat(kFolder, "measured.md"));
  for (const AlertRule& rule : AlertRulesOf(absl::StrCat(kFolder, "rules/alerts.yaml")))
    EXPECT_THAT(measured, HasSubstr(absl::StrCat("\n| ", rule.name, " | ")))
        << "made by tests/observability/report";
}

TEST(Dashboards, AreMadeFromTheirSource) {
  const Dashboards dashboards(absl::StrCat(kFolder, "dashboards.yaml"));
  std::set<std::string> files;
  for (const Dashboard& dashboard : dashboards.all()) {
    const std::string file = absl::StrCat(dashboard.uid, ".json");
    EXPECT_TRUE(files.insert(file).second) << file << " twice";
    const std::string path = absl::StrCat(kFolder, "dashboards/", file);
    if (getenv("MUSTER_WRITE_DASHBOARDS") != nullptr) std::ofstream(path) << dashboard.json;
    EXPECT_EQ(ReadFile(path), dashboard.json) << "Made anew by: " << kUpdate;
    EXPECT_TRUE(nlohmann::json::accept(dashboard.json)) << file;
  }
  for (const auto& entry :
       std::filesystem::directory_iterator(absl::StrCat(kFolder, "dashboards"))) {
    EXPECT_TRUE(entry.path().extension() != ".json" ||
                files.contains(entry.path().filename().string()))
        << entry.path() << " is of no dashboard";
  }
}

TEST(Dashboards, AskForWhatServersShow) {
  const Dashboards dashboards(absl::StrCat(kFolder, "dashboards.yaml"));
  for (const Query& query : dashboards.queries())
    ExpectKnown(query.expression, absl::StrCat(query.dashboard, ", ", query.panel));
}

TEST(Dashboards, RefuseWhatNobodyReads) {
  const TempFolder folder;
  const std::string file = folder.Path("slip.yaml");
  const auto said = [&](const std::string& panel) -> std::string {
    std::ofstream(file) << "variables: {}\ndashboards: [{uid: a, title: A, rows: [{title: R, "
                           "panels: [{title: P, unit: s, query: up, "
                        << panel << "}]}]}]\n";
    try {
      const Dashboards dashboards(file);
    } catch (const std::exception& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(said("description: It is up."), "");
  EXPECT_EQ(said("description: It is up., legned: x"), "A, P: unknown key legned");
  EXPECT_EQ(said("description: It is up"), "A, P: the description is no sentence");
  EXPECT_EQ(said("kind: pie, description: It is up."), "A, P: unknown kind pie");
  EXPECT_EQ(said("width: 8"), "A, P: no description");
}

TEST(MetricsOf, FindsNamesAndNothingElse) {
  EXPECT_THAT(MetricsOf(R"(sum by (a, b) (rate(x_total{c="d_total"}[5m])) / on (a) y > 0.1e3)"),
              ElementsAre("x_total", "y"));
  EXPECT_THAT(MetricsOf(R"(s:x:rate5m > 3 and on () time() - z)"), ElementsAre("s:x:rate5m", "z"));
  EXPECT_THAT(MetricsOf("label_replace(up, \"a\", \"$1\", \"b\", \"c(.*)\")"), ElementsAre("up"));
  EXPECT_THAT(MetricsOf("1 + 2"), IsEmpty());
  EXPECT_EQ(FamilyOf("a_seconds_bucket"), "a_seconds");
}

TEST(WithoutVariables, AsksForAll) {
  EXPECT_EQ(WithoutVariables(R"(rate(x{zone=~"$zone"}[$__rate_interval]))", "1m"),
            R"(rate(x{zone=~".*"}[1m]))");
}

}  // namespace
}  // namespace muster::testing
