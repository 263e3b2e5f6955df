#pragma once

#include <muster/capacity/v1/capacity.pb.h>
#include <muster/configuration/v1/configuration.pb.h>

#include <cstddef>

#include "services/lifecycle/heard_stock.h"

// The messages of the other services' watches, sieved.
namespace muster::lifecycle {

// Tells what the watches show of a resource from anything else that they may show of it: the same
// for an answer and for the watch's word of the same. Never 0.
size_t PrintOf(const capacity::v1::Claim& claim);
size_t PrintOf(const configuration::v1::PoolConfiguration& configuration);
// Refers to `machine`.
HeardStock::Machine StockOf(const capacity::v1::Machine& machine);

}  // namespace muster::lifecycle
