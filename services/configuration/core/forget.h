#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/configuration/core/types.h"

namespace muster::configuration {

// Forgets the oldest beyond kMaxRevisions, but what is disabled or among `running`, and the oldest
// orders beyond kMaxOrders that were told of (a number up to `orders_told`) and have ended. Pure
// but for `pool`.
void Forget(PoolConfiguration& pool, const std::vector<std::string>& running, int64_t orders_told);

}  // namespace muster::configuration
