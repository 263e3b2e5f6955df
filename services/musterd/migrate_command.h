#pragma once

#include <ostream>

#include "absl/status/status.h"

namespace muster::musterd {

// Whether the flags that say what to migrate go together. INVALID_ARGUMENT.
absl::Status CheckMigrateFlags();

// `musterd migrate`: applies the pending migrations, or shows those that it would apply (--dry_run)
// or all (--status). Writes a table to `out`.
absl::Status RunMigrate(std::ostream& out);

}  // namespace muster::musterd
