#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "services/common/random_bits.h"

namespace muster {

// An id for a call that may be repeated: 32 random hexadecimal digits.
inline std::string NewRequestId() {
  return absl::StrCat(absl::Hex(RandomBits(), absl::kZeroPad16),
                      absl::Hex(RandomBits(), absl::kZeroPad16));
}

}  // namespace muster
