#include "tests/observability/alert_rules.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <regex>

namespace muster::testing {
namespace {

// Empty where there is none.
std::string TextIn(const YAML::Node& node, const char* key) {
  return node && node[key] ? node[key].as<std::string>() : "";
}

// `[5m]`, and by their names what recording rules keep: `ratio_rate5m`, `p99_5m`.
std::vector<std::string> WindowsOf(const std::string& expression) {
  static const std::regex& window = *new std::regex("(?:\\[|rate|_)([0-9]+[smhd])\\b");
  std::vector<std::string> windows;
  for (std::sregex_iterator it(expression.begin(), expression.end(), window), end; it != end;
       ++it) {
    if (std::find(windows.begin(), windows.end(), (*it)[1]) == windows.end())
      windows.push_back((*it)[1]);
  }
  return windows;
}

}  // namespace

std::vector<AlertRule> AlertRulesOf(const std::string& file) {
  std::vector<AlertRule> rules;
  const YAML::Node read = YAML::LoadFile(file);
  for (const auto& group : read["groups"]) {
    for (const auto& rule : group["rules"]) {
      if (!rule["alert"]) continue;
      rules.push_back({.name = rule["alert"].as<std::string>(),
                       .severity = TextIn(rule["labels"], "severity"),
                       .wait = TextIn(rule, "for"),
                       .windows = WindowsOf(TextIn(rule, "expr"))});
    }
  }
  return rules;
}

}  // namespace muster::testing
