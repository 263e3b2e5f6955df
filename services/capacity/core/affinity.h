#pragma once

#include <map>
#include <string>
#include <vector>

// Which machines a claim takes, by their labels. As Kubernetes' required node affinity: terms are
// alternatives, the expressions of a term must all hold.
namespace muster::capacity {

using Labels = std::map<std::string, std::string>;

enum class AffinityOperator { kIn, kNotIn, kExists, kDoesNotExist };

struct AffinityExpression {
  std::string key = {};
  AffinityOperator op = AffinityOperator::kExists;
  std::vector<std::string> values = {};  // for kIn and kNotIn
  auto operator<=>(const AffinityExpression&) const = default;
};

struct AffinityTerm {
  std::vector<AffinityExpression> expressions = {};
  auto operator<=>(const AffinityTerm&) const = default;
};

// Without terms: every machine.
struct Affinity {
  std::vector<AffinityTerm> terms = {};
  bool empty() const { return terms.empty(); }
  auto operator<=>(const Affinity&) const = default;
};

bool Matches(const Affinity& affinity, const Labels& labels);

}  // namespace muster::capacity
