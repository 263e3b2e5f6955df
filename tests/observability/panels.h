#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/observability/dashboards.h"
#include "tests/observability/prometheus.h"

namespace muster::testing {

// What a panel's query gave.
struct PanelAnswer {
  Query query = {};
  Answer answer = {};

  bool has_data() const { return answer.error.empty() && answer.numbers() > 0; }
};

// Every query of every panel, with all of each variable and rates over `interval`.
std::vector<PanelAnswer> AskAll(const Dashboards& dashboards, const Prometheus& prometheus,
                                const std::string& interval);

// `| dashboard | panel | query | series | one of them |`, a row a query; without data says so.
std::string TableOf(const std::vector<PanelAnswer>& answers);

// What a panel draws: each series' value, by its legend (or its labels, if it has none). A query
// that was refused draws nothing.
using Drawn = std::map<std::string, std::string>;
// `panel`: `Fleet: Leader`. Throws where there is no such panel.
Drawn Draw(const Dashboards& dashboards, const Prometheus& prometheus, const std::string& panel,
           const std::string& interval);

// Which series changed, the largest present values first: `quota 0 to 3, lifecycle 1 to nothing`;
// at most three, then how many others. Empty: none.
std::string ChangeOf(const Drawn& before, const Drawn& now);

// A value for people: three digits of it, `1250`, `0.0123`; what is no number stays as it is.
std::string Rounded(const std::string& value);

}  // namespace muster::testing
