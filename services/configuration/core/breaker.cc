#include "services/configuration/core/breaker.h"

#include "absl/strings/str_cat.h"
#include "services/configuration/core/strategy.h"

namespace muster::configuration {
namespace {

OrderOutcome FailedOutcome(OrderKind kind) {
  switch (kind) {
    case OrderKind::kPromote:
      return OrderOutcome::kNoPending;
    case OrderKind::kRollback:
      return OrderOutcome::kRollbackFailed;
  }
  return OrderOutcome::kNoPending;
}

}  // namespace

PoolConfiguration CountFailures(PoolConfiguration pool, const BootFailures& failures,
                                const Policy& policy) {
  Revision* revision = FindRevision(pool, failures.node_profile);
  if (revision == nullptr || revision->enable_count != failures.enable_count) return pool;
  if (static_cast<int>(failures.machines.size()) < policy.boot_failures_to_disable) return pool;
  revision->disabled = true;
  if (pool.waiting.node_profile != failures.node_profile) return pool;
  if (Order* order = WaitingOrder(pool)) {
    order->outcome = FailedOutcome(order->kind);
    order->message = absl::StrCat(failures.node_profile, " was disabled while it waited.");
  }
  DropWaiting(pool);
  return pool;
}

PoolConfiguration Enable(PoolConfiguration pool, absl::string_view profile) {
  Revision* revision = FindRevision(pool, profile);
  if (revision == nullptr || !revision->disabled) return pool;
  revision->disabled = false;
  ++revision->enable_count;
  return pool;
}

}  // namespace muster::configuration
