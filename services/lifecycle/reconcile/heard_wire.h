#pragma once

#include <muster/capacity/v1/capacity.pb.h>

#include "services/lifecycle/reconcile/heard_stock.h"

// The messages of capacity's watch, sieved.
namespace muster::lifecycle {

// Refers to `machine`.
HeardStock::Machine StockOf(const capacity::v1::Machine& machine);

}  // namespace muster::lifecycle
