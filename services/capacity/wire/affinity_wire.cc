#include <utility>

#include "absl/strings/str_cat.h"
#include "services/capacity/core/limits.h"
#include "services/capacity/wire/capacity_wire.h"
#include "services/capacity/wire/enums.h"

namespace muster::capacity {
namespace {

AffinityTerm TermOf(const v1::AffinityTerm& term, absl::string_view path, Faults& faults) {
  AffinityTerm out;
  for (const v1::AffinityExpression& expression : term.expressions()) {
    if (out.expressions.size() > kMaxAffinityExpressions) break;
    const auto op = wire::OperatorOf(expression.operator_());
    const std::string at =
        muster::error::At(muster::error::Below(path, "expressions"), out.expressions.size());
    faults.Require(op.has_value(), muster::error::Below(at, "operator"),
                   "must be OPERATOR_IN, OPERATOR_NOT_IN, OPERATOR_EXISTS or "
                   "OPERATOR_DOES_NOT_EXIST.");
    out.expressions.push_back({expression.key(),
                               op.value_or(AffinityOperator::kExists),
                               {expression.values().begin(), expression.values().end()}});
  }
  return out;
}

}  // namespace

v1::Affinity ToProto(const Affinity& affinity) {
  v1::Affinity out;
  for (const AffinityTerm& term : affinity.terms()) {
    v1::AffinityTerm* added = out.add_terms();
    for (const AffinityExpression& expression : term.expressions) {
      v1::AffinityExpression* to = added->add_expressions();
      to->set_key(expression.key);
      to->set_operator_(wire::ToProto(expression.op));
      to->mutable_values()->Assign(expression.values.begin(), expression.values.end());
    }
  }
  return out;
}

Affinity FromProto(const v1::Affinity& affinity, absl::string_view path, Faults& faults) {
  Affinity::Terms out;
  for (const v1::AffinityTerm& term : affinity.terms()) {
    if (out.size() > kMaxAffinityTerms) break;
    out.push_back(
        TermOf(term, muster::error::At(muster::error::Below(path, "terms"), out.size()), faults));
  }
  return out;
}

}  // namespace muster::capacity
