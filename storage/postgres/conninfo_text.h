#pragma once

#include <string>

#include "absl/status/status.h"

namespace muster::storage {

// Whether libpq understands a connection string; asks no server. INVALID_ARGUMENT with libpq's message, unless that may quote a password.
absl::Status CheckConninfo(const std::string& conninfo);

}  // namespace muster::storage
