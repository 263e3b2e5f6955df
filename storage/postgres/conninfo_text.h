#pragma once

#include <string>

#include "absl/status/status.h"

namespace muster::storage {

// Whether libpq understands a connection string, with words of ours after it, too; asks no server.
// INVALID_ARGUMENT with libpq's message, unless that may quote a password; or if it has `options`,
// which are ours.
absl::Status CheckConninfo(const std::string& conninfo);

}  // namespace muster::storage
