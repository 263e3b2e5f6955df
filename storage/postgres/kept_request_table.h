#pragma once

#include "services/common/kept_request.h"
#include "storage/postgres/table_store.h"

namespace muster::storage {

// The table `kept_request`, the same in every schema; in the journal muster.type.v1.KeptRequest.
Stored<KeptRequest> StoredKeptRequests();

}  // namespace muster::storage
