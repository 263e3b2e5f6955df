#pragma once

#include <string>
#include <vector>

#include "tests/observability/dashboards.h"
#include "tests/observability/prometheus.h"

namespace muster::testing {

// What a panel's query gave.
struct PanelAnswer {
  Query query = {};
  Answer answer = {};

  bool has_data() const { return answer.error.empty() && answer.numbers > 0; }
};

// Every query of every panel, with all of each variable and rates over `interval`.
std::vector<PanelAnswer> AskAll(const Dashboards& dashboards, const Prometheus& prometheus,
                                const std::string& interval);

// `| dashboard | panel | query | series |`, a row a query; without data says so.
std::string TableOf(const std::vector<PanelAnswer>& answers);

}  // namespace muster::testing
