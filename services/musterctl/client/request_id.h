#pragma once

#include <string>

namespace muster::musterctl {

// 32 random hexadecimal digits.
std::string NewRequestId();

}  // namespace muster::musterctl
