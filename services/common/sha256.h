#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// SHA-256 of `data` (FIPS 180-4) as 64 lower-case hex digits. For names made from content, not for
// secrets: it is not hardened against timing. Our own because a core/ may include nothing but the
// standard library and Abseil, and libcrypto reads its configuration file at first use, which is
// I/O.
std::string Sha256Hex(absl::string_view data);

}  // namespace muster
