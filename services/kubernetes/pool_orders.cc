// Of PoolReconciler: takes what an object's annotations order to Muster, or refuses it.
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/condition_names.h"
#include "services/common/error.h"
#include "services/common/error_reasons.h"
#include "services/common/event_reasons.h"
#include "services/common/status_macros.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/refusal.h"
#include "services/kubernetes/pool_reconciler.h"

namespace muster::kubernetes {
namespace {

// Why the catalogue has nothing for the pool as of that generation; nullopt: it has, or that is not
// told yet.
std::optional<std::string> WhyInvalid(const lifecycle::v1::NodePool& pool, int64_t generation) {
  for (const lifecycle::v1::Condition& condition : pool.status().conditions()) {
    if (condition.type() == condition::kValidated && condition.reason() == reason::kInvalid &&
        condition.observed_generation() >= generation)
      return condition.message();
  }
  return std::nullopt;
}

// The order that stands on the object, whatever it comes to; of two the promotion.
OrderStep StandingOrder(const NodePoolObject& object) {
  const bool promotes = object.promote.has_value();
  return {.annotation = promotes ? kPromoteAnnotation : kRollbackAnnotation,
          .value = promotes ? *object.promote : *object.rollback};
}

// No order is taken now, and none is told of: room for one comes by itself.
bool HasNoRoom(const absl::Status& status) {
  return error::ReasonOf(status) == error::kTooManyOrders;
}

// What `previous` means now, where the order turns on it; empty: nothing, and the order itself says
// why.
absl::StatusOr<std::string> PreviousFor(MusterClient& muster, const NodePoolObject& object) {
  if (!AsksForPrevious(object)) return "";
  auto previous = muster.Previous(object.uid);
  if (absl::IsFailedPrecondition(previous.status()) && !HasNoRoom(previous.status())) return "";
  return previous;
}

}  // namespace

absl::Status PoolReconciler::RefuseOrder(const NodePoolObject& object, const OrderStep& step,
                                         absl::string_view why, Memory& memory) {
  RETURN_IF_ERROR(PatchAnnotation(object, RemovalOf(step, object), memory));
  parts_.events->Tell(object,
                      WordOf(step.annotation == kPromoteAnnotation
                                 ? EventReason::kNodePoolNoPendingConfiguration
                                 : EventReason::kNodePoolNodeConfigRollbackFailed),
                      absl::StrCat(step.annotation, ": ", why));
  return absl::OkStatus();
}

absl::StatusOr<PoolReconciler::OrdersLeft> PoolReconciler::RefuseOrders(
    const NodePoolObject& object, Memory& memory) {
  // Whether it is an order at all does not depend on what configuration has.
  const OrderStep step = NextOrder(object, {}, "");
  if (step.kind == OrderStep::Kind::kNonsense) return TakeStep(object, step, memory);
  const bool waits = !memory.refusal || !memory.refusal->ends_orders();
  if (step.kind == OrderStep::Kind::kNone || waits) return OrdersLeft::kNone;
  RETURN_IF_ERROR(RefuseOrder(object, StandingOrder(object),
                              absl::StrCat("The spec was refused: ", memory.refusal->message),
                              memory));
  return object.promote && object.rollback ? OrdersLeft::kMaybe : OrdersLeft::kNone;
}

absl::StatusOr<PoolReconciler::OrdersLeft> PoolReconciler::CarryOutOrder(
    const NodePoolObject& object, const Pool& pool, Memory& memory) {
  if (!object.promote && !object.rollback) return OrdersLeft::kNone;
  // What would be pending with a spec that nobody took is not known.
  const bool of_spec = object.promote == "pending" && !object.rollback;
  if (memory.refusal && of_spec) return RefuseOrders(object, memory);
  const auto found = parts_.muster->GetConfiguration(object.uid);
  // Lifecycle has not told configuration of the pool yet, or not of the spec that came with the
  // order.
  const bool untold = found.ok() ? found->generation() < memory.muster_generation
                                 : absl::IsNotFound(found.status());
  if (untold) {
    const std::optional<std::string> invalid = WhyInvalid(*pool, memory.muster_generation);
    if (!invalid) return absl::UnavailableError("configuration does not know the pool's spec yet");
    // All other orders are about configurations that it had with earlier specs.
    if (!found.ok() || of_spec) {
      const absl::string_view why = found.ok() ? "Configuration has not taken this spec: "
                                               : "The pool has no configuration: ";
      RETURN_IF_ERROR(
          RefuseOrder(object, StandingOrder(object), absl::StrCat(why, *invalid), memory));
      return OrdersLeft::kMaybe;  // the other one may be there, too
    }
  }
  RETURN_IF_ERROR(found.status());
  std::string previous;
  if (!memory.by_word) {
    ASSIGN_OR_RETURN(previous, PreviousFor(*parts_.muster, object));
  }
  const OrderStep step = NextOrder(object, *found, previous, memory.by_word);
  // Before it is asked for: the answer may be lost, or the annotation may not be removed.
  if (step.by_word) memory.by_word = true;
  return TakeStep(object, step, memory);
}

absl::StatusOr<PoolReconciler::OrdersLeft> PoolReconciler::TakeStep(const NodePoolObject& object,
                                                                    const OrderStep& step,
                                                                    Memory& memory) {
  absl::Status asked;
  switch (step.kind) {
    case OrderStep::Kind::kNone:
      return OrdersLeft::kNone;
    case OrderStep::Kind::kReplace:
      RETURN_IF_ERROR(PatchAnnotation(
          object, ReplaceAnnotation(step.annotation, step.value, step.profile), memory));
      return OrdersLeft::kMaybe;
    case OrderStep::Kind::kConflict:
      asked =
          parts_.muster->Promote(object.uid, *object.promote, *object.rollback, memory.order_id);
      break;
    case OrderStep::Kind::kNonsense:
      RETURN_IF_ERROR(RefuseOrder(object, step, "is empty: it asks for nothing.", memory));
      return OrdersLeft::kMaybe;  // the other one may be meant
    case OrderStep::Kind::kPromote:
      asked = parts_.muster->Promote(object.uid, step.profile, "", memory.order_id);
      break;
    case OrderStep::Kind::kRollback:
      asked = parts_.muster->Rollback(object.uid, step.profile, memory.order_id);
      break;
    case OrderStep::Kind::kRemove:
      break;
  }
  // Of an order that does not fit the pool's state Muster has told by an event; not of what is no
  // order.
  const bool nonsense = absl::IsInvalidArgument(asked);
  if (!asked.ok() && !nonsense && !absl::IsFailedPrecondition(asked)) return asked;
  if (HasNoRoom(asked)) return asked;
  RETURN_IF_ERROR(nonsense ? RefuseOrder(object, step, FaultsOf(asked), memory)
                           : PatchAnnotation(object, RemovalOf(step, object), memory));
  return OrdersLeft::kNone;
}

}  // namespace muster::kubernetes
