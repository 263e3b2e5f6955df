#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

// Turns of phrase of messages to people.
namespace muster::lifecycle {

// `3 Nodes`, `1 Node`.
std::string CountText(int64_t n, absl::string_view noun);

// `a, b and 7 more`: at most five are named.
std::string ListText(const std::vector<std::string>& names);

// Why `service`, which has released the pool's uid, does nothing for it, and what helps.
std::string ReleasedText(absl::string_view service);

}  // namespace muster::lifecycle
