#pragma once

#include <string>
#include <vector>

namespace muster::testing {

// An alert as it is shipped.
struct AlertRule {
  std::string name = {};
  std::string severity = {};
  std::string wait = {};  // `for`: `2m`; empty: none
  std::vector<std::string> windows =
      {};  // that its expression looks back over, those of what it takes from recording rules too: `5m`, `1h`
};

// Those of a file of rules, as they stand there. Throws where it cannot be read.
std::vector<AlertRule> AlertRulesOf(const std::string& file);

}  // namespace muster::testing
