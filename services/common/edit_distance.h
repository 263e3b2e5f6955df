#pragma once

#include <cstddef>

#include "absl/strings/string_view.h"

namespace muster {

// How many letters to add, take out, change, or exchange with the next make one of the other.
size_t EditDistance(absl::string_view a, absl::string_view b);

}  // namespace muster
