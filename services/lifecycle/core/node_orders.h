#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/lifecycle/core/commands.h"
#include "services/lifecycle/core/types.h"

// What is ordered of one Node: cordon, drain, reboot. A cordon holds at once; when the rest is done is Plan's (plan_orders.cc).
namespace muster::lifecycle {

// Writes the order on the Node. What was ordered before stays, and says since when. FAILED_PRECONDITION (NODE_STATE): the Node cannot
// be brought there; it is then as it was.
absl::Status TakeOrder(Node& node, const OrderNode& order, absl::Time now);

}  // namespace muster::lifecycle
