#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "services/common/interned.h"

// Which machines a claim takes, by their labels. As Kubernetes' required node affinity: terms are
// alternatives, the expressions of a term must all hold.
namespace muster::capacity {

using Labels = std::map<std::string, std::string>;

enum class AffinityOperator { kIn, kNotIn, kExists, kDoesNotExist };

struct AffinityExpression {
  std::string key = {};
  AffinityOperator op = AffinityOperator::kExists;
  std::vector<std::string> values = {};  // for kIn and kNotIn
  bool operator==(const AffinityExpression&) const = default;
  template <class H>
  friend H AbslHashValue(H hash, const AffinityExpression& expression) {
    return H::combine(std::move(hash), expression.key, expression.op, expression.values);
  }
};

struct AffinityTerm {
  std::vector<AffinityExpression> expressions = {};
  bool operator==(const AffinityTerm&) const = default;
  template <class H>
  friend H AbslHashValue(H hash, const AffinityTerm& term) {
    return H::combine(std::move(hash), term.expressions);
  }
};

// Without terms: every machine. Equal ones are one in memory, so that copies and comparisons do not
// look at the text.
class Affinity {
 public:
  using Terms = std::vector<AffinityTerm>;

  Affinity() = default;
  // Implicit: an affinity is written down as its terms.
  Affinity(Terms terms) : terms_(std::move(terms)) {}

  const Terms& terms() const { return terms_.get(); }
  bool empty() const { return terms_.empty(); }

  bool operator==(const Affinity&) const = default;
  // Some order, the same as long as both are alive: that of their addresses.
  std::strong_ordering operator<=>(const Affinity& other) const {
    return std::compare_three_way()(&terms(), &other.terms());
  }
  template <class H>
  friend H AbslHashValue(H hash, const Affinity& affinity) {
    return H::combine(std::move(hash), &affinity.terms());
  }

 private:
  Interned<Terms> terms_;
};

bool Matches(const Affinity& affinity, const Labels& labels);
// How often this thread has asked that, of an affinity that has terms. For tests.
int64_t MatchesJudged();

}  // namespace muster::capacity
