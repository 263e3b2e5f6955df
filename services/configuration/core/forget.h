#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/configuration/core/types.h"

namespace muster::configuration {

// Forgets the oldest revisions until kMaxRevisions are left, except those that are active, disabled
// or among `running`; and the oldest orders until kMaxOrders are left, except those that wait or
// were not told of yet (a number above `orders_told`). Pure but for `pool`.
void Forget(PoolConfiguration& pool, const std::vector<std::string>& running, int64_t orders_told);

}  // namespace muster::configuration
