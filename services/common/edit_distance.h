#pragma once

#include <cstddef>

#include "absl/strings/string_view.h"

namespace muster {

// The least number of steps that turn one text into the other: add, remove or change a letter, or
// swap it with the next.
size_t EditDistance(absl::string_view a, absl::string_view b);

}  // namespace muster
