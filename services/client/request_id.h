#pragma once

#include <string>

namespace muster::client {

// 32 random hexadecimal digits.
std::string NewRequestId();

}  // namespace muster::client
