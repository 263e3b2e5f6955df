#include "tests/observability/on_call.h"

#include <httplib.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

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

constexpr char kExplain[] = "musterctl explain nodepool NAME";
constexpr size_t kMostLines = 40;
constexpr size_t kMostText = 160;

// Whether the command is one of musterctl's that change nothing.
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

// Replaces the runbook's placeholders, which are whole words, by the names.
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

// How many looks there were, and how many of them showed something.
struct Looked {
  int all = 0;
  int shown = 0;

  void Count(bool is_shown) {
    ++all;
    if (is_shown) ++shown;
  }
  std::string told() const { return absl::StrCat(shown, " of ", all); }
};

// Adds what an item of a list has in quotes behind the word "log".
void AddMessages(const std::string& item, std::vector<std::string>& messages) {
  static const std::regex& code = *new std::regex("`[^`]*`");
  static const std::regex& log = *new std::regex("\\blogs?\\b");
  static const std::regex& quoted = *new std::regex("\"([a-z][^\"]*)\"");
  const std::string text = OneLine(std::regex_replace(item, code, ""));
  std::smatch found;
  if (!std::regex_search(text, found, log)) return;
  const std::string behind = found.suffix();
  for (std::sregex_iterator it(behind.begin(), behind.end(), quoted), end; it != end; ++it)
    messages.push_back((*it)[1]);
}

// The line of the log if it is not older than `since` (to the second), else null.
Json LineSince(absl::string_view line, absl::Time since) {
  Json said = Json::parse(line.begin(), line.end(), nullptr, false);
  const std::string begin = absl::FormatTime("%Y-%m-%dT%H:%M:%S", since, absl::UTCTimeZone());
  return said.is_object() && said.value("ts", "") >= begin ? said : Json();
}

Finished Run(const Desk& desk, const std::string& command) {
  std::vector<std::string> words = absl::StrSplit(command, ' ', absl::SkipEmpty());
  words.erase(words.begin());
  return desk.ctl(std::move(words));
}

std::string Said(const std::string& command, const Finished& finished) {
  const std::string code =
      finished.exit_code == 0 ? "" : absl::StrCat("(exit code ", finished.exit_code, ")");
  return Fenced(command, absl::StrCat(finished.output, code));
}

std::string Asked(const Prometheus& prometheus, const std::string& query, Looked& looked) {
  const std::vector<std::string> values = prometheus.Values(query);
  looked.Count(!values.empty());
  return Fenced(query, values.empty() ? "no data" : absl::StrJoin(values, "\n"));
}

// The health (the data of its event `beat`) that the page sends first; or why there is none.
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
  return told.substr(beat + 18, told.find('\n', beat + 18) - beat - 18);
}

// A line of each service and watch.
std::string HealthLines(const std::string& beat) {
  const Json health = Json::parse(beat, nullptr, false);
  if (health.is_discarded()) return beat;
  std::vector<std::string> lines;
  for (const char* part : {"services", "watches"})
    for (const Json& row : health["health"][part])
      lines.push_back(absl::StrCat(part, ": ", row.dump()));
  return absl::StrJoin(lines, "\n");
}

// What the sections are made from, and counts of looks and log messages that showed something.
struct Seen {
  const std::map<std::string, std::string> names = {};  // of the desk
  const std::string log = {};                           // likewise
  const absl::Time since = {};
  Looked looks = {};
  Looked messages = {};
};

// `alerts`: all of the same name; of one service or several.
std::string AlertSection(const Desk& desk, const Prometheus& prometheus,
                         const std::vector<FiringAlert>& alerts, Seen& seen) {
  const std::string& name = alerts.front().name;
  const std::string runbook = RunbookOf(name);
  std::string out = absl::StrCat("### ", name, "\n\n");
  for (const FiringAlert& alert : alerts) {
    absl::StrAppend(&out, "- ", alert.severity, ", ", alert.service, ": **", alert.summary, "** ",
                    alert.description, "\n");
  }
  absl::StrAppend(&out, "\n> ", absl::StrReplaceAll(runbook, {{"\n", "\n> "}}), "\n\n");
  const Looks looks = LooksOf(runbook);
  for (const std::string& query : looks.queries) out += Asked(prometheus, query, seen.looks);
  for (const std::string& look : looks.commands) {
    const std::string command = WithNames(look, seen.names);
    const Finished finished = Run(desk, command);
    // `musterctl debug audit` prints the books and exits with 1 when they differ: that shows
    // something, too.
    seen.looks.Count(finished.exit_code == 0 || !absl::StartsWith(finished.output, "error: "));
    out += Said(command, finished);
  }
  for (const std::string& message : looks.messages) {
    const bool is_logged = IsLogged(seen.log, seen.since, message);
    seen.messages.Count(is_logged);
    absl::StrAppend(&out, "The log has ", is_logged ? "" : "not ", "\"", message, "\".\n\n");
  }
  return out;
}

// What musterctl says of the pool, whatever the alert.
std::string PoolSection(const Desk& desk, const std::map<std::string, std::string>& names,
                        Shift& shift) {
  std::string text = "### Of the pool, whoever asks\n\n";
  for (const char* asked : {"musterctl get nodepools", kExplain,
                            "musterctl check quota QUOTA --nodes 4 --pool-uid UID"}) {
    const std::string command = WithNames(asked, names);
    const Finished finished = Run(desk, command);
    text += Said(command, finished);
    if (asked == kExplain) shift.explained = ObstaclesIn(finished);
  }
  return text;
}

}  // namespace

Looks LooksOf(absl::string_view text) {
  Looks looks;
  const std::vector<std::string> parts = absl::StrSplit(text, '`');
  for (size_t i = 1; i < parts.size(); i += 2) {
    if (OnlyAsks(parts[i])) looks.commands.push_back(parts[i]);
    if (IsQuery(parts[i])) looks.queries.push_back(parts[i]);
  }
  for (const absl::string_view item : absl::StrSplit(text, "\n- "))
    AddMessages(std::string(item), looks.messages);
  return looks;
}

std::string OneLine(absl::string_view text) {
  std::string line(text);
  absl::RemoveExtraAsciiWhitespace(&line);
  absl::StrReplaceAll({{"\n", " "}}, &line);
  return line;
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

bool IsLogged(absl::string_view lines, absl::Time since, absl::string_view message) {
  for (const absl::string_view line : absl::StrSplit(lines, '\n')) {
    if (!absl::StrContains(line, message)) continue;
    const Json said = LineSince(line, since);
    if (!said.is_null() && absl::StrContains(said.value("msg", ""), message)) return true;
  }
  return false;
}

std::vector<std::string> TroubleIn(absl::string_view lines, absl::Time since) {
  std::vector<std::pair<std::string, int>> counted;
  for (const absl::string_view line : absl::StrSplit(lines, '\n')) {
    const Json said = LineSince(line, since);
    if (said.is_null()) continue;
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

std::string AmissIn(absl::string_view beat) {
  const Json health = Json::parse(beat.begin(), beat.end(), nullptr, false);
  if (health.is_discarded()) return "no answer";
  std::vector<std::string> parts;
  const auto add = [&](const char* what, const char* rows, const char* well) {
    std::vector<std::string> services;
    for (const Json& row : health["health"][rows])
      if (!row.value(well, false)) services.push_back(row.value("service", ""));
    if (!services.empty()) parts.push_back(absl::StrCat(what, ": ", absl::StrJoin(services, ", ")));
  };
  add("not ready", "services", "ready");
  add("no news", "watches", "live");
  for (const Json& row : health["health"]["services"])
    if (row.value("leaderless", false)) parts.emplace_back("no leader");
  return parts.empty() ? "nothing" : absl::StrJoin(parts, "; ");
}

std::string ObstaclesIn(const Finished& explained) {
  if (explained.exit_code != 0) {
    static const std::regex& code = *new std::regex("\\(([A-Z_]+)");
    std::smatch found;
    return std::regex_search(explained.output, found, code) ? found[1].str() : "no answer";
  }
  std::vector<std::string> obstacles;
  bool is_row = false;
  for (const absl::string_view line : absl::StrSplit(explained.output, '\n', absl::SkipEmpty())) {
    if (is_row) obstacles.emplace_back(line.substr(0, line.find(' ')));
    is_row |= absl::StartsWith(line, "REASON ");
  }
  return obstacles.empty() ? "nothing" : absl::StrJoin(obstacles, ", ");
}

Shift ShiftOf(const Desk& desk, const Prometheus& prometheus, absl::Time since) {
  Seen seen{.names = desk.names ? desk.names() : std::map<std::string, std::string>(),
            .log = desk.log(),
            .since = since};
  Shift shift;
  std::map<std::string, std::vector<FiringAlert>> by_name;
  for (const FiringAlert& alert : prometheus.Alerts()) by_name[alert.name].push_back(alert);
  for (const auto& [name, alerts] : by_name)
    shift.text += AlertSection(desk, prometheus, alerts, seen);
  shift.looks = seen.looks.told();
  shift.messages = seen.messages.told();
  shift.text += PoolSection(desk, seen.names, shift);
  const std::string beat = PageHealth(desk.page());
  shift.page = AmissIn(beat);
  shift.text += "### The page's health\n\n" + Fenced("GET /events", HealthLines(beat));
  const std::vector<std::string> trouble = TroubleIn(desk.log(), since);
  shift.log = trouble.empty() ? "nothing" : absl::StrReplaceAll(trouble.front(), {{"|", "/"}});
  if (trouble.size() > 1) absl::StrAppend(&shift.log, ", and ", trouble.size() - 1, " others");
  shift.text +=
      "### The log\n\n" + Fenced("jq 'select(.level == \"warn\" or .level == \"error\")'",
                                 trouble.empty() ? "nothing" : absl::StrJoin(trouble, "\n"));
  return shift;
}

}  // namespace muster::testing
