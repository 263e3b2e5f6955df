#include "services/kubernetes/core/orders.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "services/kubernetes/core/names.h"

namespace muster::kubernetes {
namespace {

using configuration::v1::ConfigurationOrder;
using configuration::v1::PoolConfiguration;

// True when the last order was this one, and what it came to still stands: what became active since
// without an order overtook it.
bool IsDone(const PoolConfiguration& configuration, ConfigurationOrder::Kind kind,
            const std::string& profile) {
  if (configuration.orders().empty()) return false;
  const ConfigurationOrder& last = *configuration.orders().rbegin();
  if (last.kind() != kind || last.node_profile() != profile) return false;
  if (last.outcome() == ConfigurationOrder::OUTCOME_WAITING) return true;
  return last.outcome() == ConfigurationOrder::OUTCOME_DONE && configuration.active() == profile;
}

std::string Pointer(absl::string_view key) {
  return absl::StrCat("/metadata/annotations/",
                      absl::StrReplaceAll(key, {{"~", "~0"}, {"/", "~1"}}));
}

Json Test(absl::string_view key, absl::string_view value) {
  return {{"op", "test"}, {"path", Pointer(key)}, {"value", std::string(value)}};
}

}  // namespace

bool AsksForPrevious(const NodePoolObject& object) {
  return !object.promote && object.rollback == "previous";
}

OrderStep NextOrder(const NodePoolObject& object, const PoolConfiguration& configuration,
                    const std::string& previous, bool by_word) {
  if (!object.promote && !object.rollback) return {};
  for (const auto& [key, value] : {std::pair(kPromoteAnnotation, object.promote),
                                   std::pair(kRollbackAnnotation, object.rollback)}) {
    if (value && value->empty()) return {.kind = OrderStep::Kind::kNonsense, .annotation = key};
  }
  if (object.promote && object.rollback) {
    return {.kind = OrderStep::Kind::kConflict,
            .annotation = kPromoteAnnotation,
            .value = *object.promote};
  }
  const bool promote = object.promote.has_value();
  OrderStep step{.kind = promote ? OrderStep::Kind::kPromote : OrderStep::Kind::kRollback,
                 .annotation = promote ? kPromoteAnnotation : kRollbackAnnotation,
                 .value = promote ? *object.promote : *object.rollback};
  step.profile = step.value;
  if (step.value == (promote ? "pending" : "previous")) {
    const std::string meaning = promote ? configuration.pending().node_profile() : previous;
    step.by_word = by_word || meaning.empty();
    if (step.by_word) return step;
    step.kind = OrderStep::Kind::kReplace;
    step.profile = meaning;
    return step;
  }
  const auto kind = promote ? ConfigurationOrder::KIND_PROMOTE : ConfigurationOrder::KIND_ROLLBACK;
  if (IsDone(configuration, kind, step.value)) step.kind = OrderStep::Kind::kRemove;
  return step;
}

Json ReplaceAnnotation(absl::string_view key, absl::string_view value, absl::string_view with) {
  return Json::array(
      {Test(key, value),
       Json{{"op", "replace"}, {"path", Pointer(key)}, {"value", std::string(with)}}});
}

Json RemoveAnnotation(absl::string_view key, absl::string_view value) {
  return Json::array({Test(key, value), Json{{"op", "remove"}, {"path", Pointer(key)}}});
}

Json RemovalOf(const OrderStep& step, const NodePoolObject& object) {
  Json removal = RemoveAnnotation(step.annotation, step.value);
  if (step.kind == OrderStep::Kind::kConflict) {
    for (Json& other : RemoveAnnotation(kRollbackAnnotation, *object.rollback))
      removal.push_back(std::move(other));
  }
  return removal;
}

}  // namespace muster::kubernetes
