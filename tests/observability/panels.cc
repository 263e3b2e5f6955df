#include "tests/observability/panels.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>
#include <stdexcept>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace muster::testing {
namespace {

constexpr size_t kMostChanges = 3;

// The series' name as Grafana makes it from the legend; without a legend, the values of all its
// labels.
std::string NameOf(const Query& query, const Series& series) {
  std::string name = query.legend;
  for (const auto& [label, value] : series.labels) {
    const std::string mark = absl::StrCat("{{", label, "}}");
    if (query.legend.empty()) absl::StrAppend(&name, name.empty() ? "" : " ", value);
    name = absl::StrReplaceAll(name, {{mark, value}});
  }
  // A label that the series does not have becomes empty, as in Grafana.
  static const std::regex& mark = *new std::regex("\\{\\{[^}]*\\}\\}");
  name = std::regex_replace(name, mark, "");
  absl::RemoveExtraAsciiWhitespace(&name);
  return name;
}

// The first series whose value is a number, preferably not 0.
std::string SampleOf(const PanelAnswer& entry) {
  const Series* sample = nullptr;
  for (const Series& series : entry.answer.all) {
    if (series.value == "NaN") continue;
    if (sample == nullptr || sample->value == "0") sample = &series;
  }
  if (sample == nullptr) return "";
  return absl::StrReplaceAll(
      absl::StrCat(NameOf(entry.query, *sample), " ", Rounded(sample->value)), {{"|", "/"}});
}

}  // namespace

std::vector<PanelAnswer> AskAll(const Dashboards& dashboards, const Prometheus& prometheus,
                                const std::string& interval) {
  std::vector<PanelAnswer> answers;
  for (const Query& query : dashboards.queries()) {
    answers.push_back(
        {.query = query, .answer = prometheus.Ask(WithoutVariables(query.expression, interval))});
  }
  return answers;
}

std::string TableOf(const std::vector<PanelAnswer>& answers) {
  std::string table =
      "| dashboard | panel | query | series | one of them |\n| --- | --- | --- | --- | --- |\n";
  std::string before;
  int number = 0;
  for (const PanelAnswer& entry : answers) {
    const std::string panel =
        absl::StrCat("| ", entry.query.dashboard, " | ", entry.query.panel, " | ");
    number = panel == before ? number + 1 : 1;
    before = panel;
    absl::StrAppend(&table, panel, number, " | ", entry.answer.series());
    if (!entry.answer.error.empty())
      absl::StrAppend(&table, ", refused: ", entry.answer.error);
    else if (entry.answer.series() == 0)
      absl::StrAppend(&table, ", NOTHING");
    else if (entry.answer.numbers() == 0)
      absl::StrAppend(&table, ", NO NUMBER");
    absl::StrAppend(&table, " | ", SampleOf(entry), " |\n");
  }
  return table;
}

Drawn Draw(const Dashboards& dashboards, const Prometheus& prometheus, const std::string& panel,
           const std::string& interval) {
  Drawn drawn;
  bool is_there = false;
  for (const Query& query : dashboards.queries()) {
    if (absl::StrCat(query.dashboard, ": ", query.panel) != absl::StrCat("Muster / ", panel))
      continue;
    is_there = true;
    for (const Series& series : prometheus.Ask(WithoutVariables(query.expression, interval)).all)
      drawn[NameOf(query, series)] = series.value;
  }
  if (!is_there) throw std::runtime_error(absl::StrCat("no panel ", panel));
  return drawn;
}

std::string ChangeOf(const Drawn& before, const Drawn& now) {
  std::map<std::string, std::pair<std::string, std::string>> both;
  for (const auto& [name, value] : before) both[name].first = Rounded(value);
  for (const auto& [name, value] : now) both[name].second = Rounded(value);
  const auto told = [](const std::string& value) { return value.empty() ? "nothing" : value; };
  std::vector<std::pair<double, std::string>> changes;
  for (const auto& [name, values] : both) {
    if (values.first == values.second) continue;
    double size = 0;
    (void)absl::SimpleAtod(values.second, &size);
    changes.emplace_back(-std::abs(size),
                         absl::StrCat(name, name.empty() ? "" : " ", told(values.first), " to ",
                                      told(values.second)));
  }
  std::sort(changes.begin(), changes.end());
  std::vector<std::string> texts;
  for (const auto& [size, text] : changes) texts.push_back(text);
  if (texts.size() > kMostChanges) {
    texts.resize(kMostChanges);
    texts.push_back(absl::StrCat("and ", changes.size() - kMostChanges, " others"));
  }
  return absl::StrReplaceAll(absl::StrJoin(texts, ", "), {{"|", "/"}});
}

std::string Rounded(const std::string& value) {
  double number = 0;
  if (!absl::SimpleAtod(value, &number) || !std::isfinite(number)) return value;
  return std::abs(number) >= 100 ? absl::StrFormat("%.0f", number)
                                 : absl::StrFormat("%.3g", number);
}

}  // namespace muster::testing
