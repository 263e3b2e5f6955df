#include "tests/observability/on_call.h"

#include <httplib.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostLines = 40;
constexpr size_t kMostText = 160;

// What changes nothing.
bool OnlyAsks(absl::string_view command) {
  for (const char* verb :
       {"get", "describe", "explain", "check", "find", "debug audit", "debug compare"})
    if (absl::StartsWith(command, absl::StrCat("musterctl ", verb))) return true;
  return false;
}

bool IsQuery(absl::string_view code) {
  if (absl::EndsWith(code, "_")) return false;
  for (const char* begin : {"muster_", "sum ", "rate(", "up{", "process_", "workqueue_",
                            "histogram_quantile(", "time()", "max_over_time("})
    if (absl::StartsWith(code, begin)) return !absl::StrContains(code, '<');
  return false;
}

std::string Fenced(absl::string_view what, absl::string_view text) {
  std::vector<std::string> lines = absl::StrSplit(absl::StripTrailingAsciiWhitespace(text), '\n');
  const size_t all = lines.size();
  if (all > kMostLines) {
    lines.resize(kMostLines);
    lines.push_back(absl::StrCat("(", all - kMostLines, " lines more)"));
  }
  return absl::StrCat("```\n$ ", what, "\n", absl::StrJoin(lines, "\n"), "\n```\n\n");
}

// By whole words.
std::string WithNames(const std::string& command, const std::map<std::string, std::string>& names) {
  std::string out;
  std::string word;
  const auto end_word = [&] {
    const auto name = names.find(word);
    out += name == names.end() ? word : name->second;
    word.clear();
  };
  for (const char c : command) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_') {
      word += c;
    } else {
      end_word();
      out += c;
    }
  }
  end_word();
  return out;
}

std::string Said(const Desk& desk, const std::string& command) {
  std::vector<std::string> words = absl::StrSplit(command, ' ', absl::SkipEmpty());
  words.erase(words.begin());
  const Finished finished = desk.ctl(std::move(words));
  const std::string code =
      finished.exit_code == 0 ? "" : absl::StrCat("(exit code ", finished.exit_code, ")");
  return Fenced(command, absl::StrCat(finished.output, code));
}

std::string Asked(const Prometheus& prometheus, const std::string& query) {
  const std::vector<std::string> values = prometheus.Values(query);
  return Fenced(query, values.empty() ? "no data" : absl::StrJoin(values, "\n"));
}

// The health that the page tells its readers of first.
std::string PageHealth(const std::string& address) {
  httplib::Client client(absl::StrCat("http://", address));
  client.set_connection_timeout(2);
  client.set_read_timeout(2);
  std::string told;
  const auto answer = client.Get("/events", [&](const char* data, size_t size) {
    told.append(data, size);
    return !absl::StrContains(told, "event: beat") || told.back() != '\n';
  });
  const size_t beat = told.find("event: beat\ndata: ");
  if (beat == std::string::npos)
    return answer ? "no beat" : absl::StrCat("no answer: ", httplib::to_string(answer.error()));
  const std::string data = told.substr(beat + 18, told.find('\n', beat + 18) - beat - 18);
  const Json health = Json::parse(data, nullptr, false);
  if (health.is_discarded()) return data;
  std::vector<std::string> lines;
  for (const char* part : {"services", "watches"})
    for (const Json& row : health["health"][part])
      lines.push_back(absl::StrCat(part, ": ", row.dump()));
  return absl::StrJoin(lines, "\n");
}

// `alerts`: of one name, of one service or several.
std::string AlertSection(const Desk& desk, const Prometheus& prometheus,
                         const std::vector<FiringAlert>& alerts,
                         const std::map<std::string, std::string>& names) {
  const std::string& name = alerts.front().name;
  const std::string runbook = RunbookOf(name);
  std::string out = absl::StrCat("### ", name, "\n\n");
  for (const FiringAlert& alert : alerts) {
    absl::StrAppend(&out, "- ", alert.severity, ", ", alert.service, ": **", alert.summary, "** ",
                    alert.description, "\n");
  }
  absl::StrAppend(&out, "\n> ", absl::StrReplaceAll(runbook, {{"\n", "\n> "}}), "\n\n");
  const Looks looks = LooksOf(runbook);
  for (const std::string& query : looks.queries) out += Asked(prometheus, query);
  for (const std::string& command : looks.commands) out += Said(desk, WithNames(command, names));
  return out;
}

}  // namespace

Looks LooksOf(absl::string_view text) {
  Looks looks;
  const std::vector<std::string> parts = absl::StrSplit(text, '`');
  for (size_t i = 1; i < parts.size(); i += 2) {
    if (OnlyAsks(parts[i])) looks.commands.push_back(parts[i]);
    if (IsQuery(parts[i])) looks.queries.push_back(parts[i]);
  }
  return looks;
}

std::string RunbookOf(const std::string& alert) {
  const std::string all = ReadFile(MUSTER_SOURCE_DIR "/deploy/runbook.md");
  const std::string heading = absl::StrCat("\n## ", alert, "\n\n");
  const size_t begin = all.find(heading);
  if (begin == std::string::npos) return "no section";
  const size_t text = begin + heading.size();
  return std::string(
      absl::StripTrailingAsciiWhitespace(all.substr(text, all.find("\n## ", text) - text)));
}

std::vector<std::string> TroubleIn(absl::string_view lines, absl::Time since) {
  const std::string begin = absl::FormatTime("%Y-%m-%dT%H:%M:%S", since, absl::UTCTimeZone());
  std::vector<std::pair<std::string, int>> counted;
  for (const absl::string_view line : absl::StrSplit(lines, '\n')) {
    const Json said = Json::parse(line.begin(), line.end(), nullptr, false);
    if (!said.is_object() || said.value("ts", "") < begin) continue;
    const std::string level = said.value("level", "");
    if (level != "warn" && level != "error") continue;
    std::string text = absl::StrCat(level, ": ", said.value("msg", ""));
    for (const char* field : {"service", "schema", "method", "code", "reason", "error"})
      if (said.contains(field)) absl::StrAppend(&text, " ", field, "=", said[field].dump());
    text = text.substr(0, kMostText);
    const auto known = std::find_if(counted.begin(), counted.end(),
                                    [&](const auto& entry) { return entry.first == text; });
    if (known == counted.end()) {
      counted.emplace_back(text, 1);
    } else {
      ++known->second;
    }
  }
  std::vector<std::string> out;
  for (const auto& [text, n] : counted) out.push_back(absl::StrCat(n, " x ", text));
  return out;
}

std::string ShiftOf(const Desk& desk, const Prometheus& prometheus, absl::Time since) {
  const std::map<std::string, std::string> names =
      desk.names ? desk.names() : std::map<std::string, std::string>();
  std::string out;
  std::map<std::string, std::vector<FiringAlert>> by_name;
  for (const FiringAlert& alert : prometheus.Alerts()) by_name[alert.name].push_back(alert);
  for (const auto& [name, alerts] : by_name) out += AlertSection(desk, prometheus, alerts, names);
  out += "### Of the pool, whoever asks\n\n";
  for (const char* command : {"musterctl get nodepools", "musterctl explain nodepool NAME",
                              "musterctl check quota QUOTA --nodes 4 --pool-uid UID"})
    out += Said(desk, WithNames(command, names));
  out += "### The page's health\n\n" + Fenced("GET /events", PageHealth(desk.page()));
  const std::vector<std::string> trouble = TroubleIn(desk.log(), since);
  out += "### The log\n\n" + Fenced("jq 'select(.level == \"warn\" or .level == \"error\")'",
                                    trouble.empty() ? "nothing" : absl::StrJoin(trouble, "\n"));
  return out;
}

}  // namespace muster::testing
