#pragma once

#include "services/common/released_pool.h"
#include "storage/postgres/table_store.h"

namespace muster::storage {

// The table `released_pool`, the same in every schema that has it; in the journal
// muster.type.v1.ReleasedPool.
Stored<ReleasedPool> StoredReleasedPools();

}  // namespace muster::storage
