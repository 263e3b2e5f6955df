#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/lifecycle/core/commands.h"
#include "services/lifecycle/core/types.h"

// What operators order of one Node: cordon, drain, reboot. A cordon holds at once; plan_orders.cc
// decides when the rest is done.
namespace muster::lifecycle {

// Writes the order on the Node; kUncordon takes all orders back. What was ordered before stays
// ordered, with its time. FAILED_PRECONDITION (NODE_STATE): the Node's state does not allow it; it
// is then as it was.
absl::Status TakeOrder(Node& node, const OrderNode& order, absl::Time now);

}  // namespace muster::lifecycle
