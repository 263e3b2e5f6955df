#include "services/capacity/core/affinity.h"

#include <algorithm>

namespace muster::capacity {
namespace {

bool Holds(const AffinityExpression& expression, const Labels& labels) {
  const auto label = labels.find(expression.key);
  const bool there = label != labels.end();
  const auto listed = [&] {
    return std::find(expression.values.begin(), expression.values.end(), label->second) !=
           expression.values.end();
  };
  switch (expression.op) {
    case AffinityOperator::kIn:
      return there && listed();
    case AffinityOperator::kNotIn:
      return !there || !listed();
    case AffinityOperator::kExists:
      return there;
    case AffinityOperator::kDoesNotExist:
      return !there;
  }
  return false;
}

thread_local int64_t judged = 0;

}  // namespace

int64_t MatchesJudged() { return judged; }

bool Matches(const Affinity& affinity, const Labels& labels) {
  if (affinity.empty()) return true;
  ++judged;
  const Affinity::Terms& terms = affinity.terms();
  return std::any_of(terms.begin(), terms.end(), [&](const AffinityTerm& term) {
    return std::all_of(
        term.expressions.begin(), term.expressions.end(),
        [&](const AffinityExpression& expression) { return Holds(expression, labels); });
  });
}

}  // namespace muster::capacity
