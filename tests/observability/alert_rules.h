#pragma once

#include <string>
#include <vector>

namespace muster::testing {

// An alert as it is shipped.
struct AlertRule {
  std::string name = {};
  std::string severity = {};
  std::string wait = {};  // `for`: `2m`; empty: none
  // How far its expression looks back, also by recording rules that it uses: `5m`, `1h`.
  std::vector<std::string> windows = {};
};

// The alerts of a file of rules, in its order. Throws if it cannot be read.
std::vector<AlertRule> AlertRulesOf(const std::string& file);

}  // namespace muster::testing
