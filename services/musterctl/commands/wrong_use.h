#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::musterctl {

// INVALID_ARGUMENT of wrong use: the exit code is kWrongUse.
absl::Status WrongUse(absl::string_view text);
bool IsWrongUse(const absl::Status& status);

}  // namespace muster::musterctl
