#pragma once

#include <ostream>

#include "absl/status/status.h"

namespace muster::musterd {

// `musterd migrate`: applies what is pending, or shows what it would apply (--dry_run) or what is
// there (--status). Writes a table to `out`.
absl::Status RunMigrate(std::ostream& out);

}  // namespace muster::musterd
