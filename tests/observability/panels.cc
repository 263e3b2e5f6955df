#include "tests/observability/panels.h"

#include <map>

#include "absl/strings/str_cat.h"

namespace muster::testing {

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
  std::string table = "| dashboard | panel | query | series |\n| --- | --- | --- | --- |\n";
  std::string before;
  int number = 0;
  for (const PanelAnswer& entry : answers) {
    const std::string panel =
        absl::StrCat("| ", entry.query.dashboard, " | ", entry.query.panel, " | ");
    number = panel == before ? number + 1 : 1;
    before = panel;
    absl::StrAppend(&table, panel, number, " | ", entry.answer.series);
    if (!entry.answer.error.empty())
      absl::StrAppend(&table, ", refused: ", entry.answer.error);
    else if (entry.answer.series == 0)
      absl::StrAppend(&table, ", NOTHING");
    else if (entry.answer.numbers == 0)
      absl::StrAppend(&table, ", NO NUMBER");
    absl::StrAppend(&table, " |\n");
  }
  return table;
}

}  // namespace muster::testing
