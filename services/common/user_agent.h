#pragma once

#include <errno.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "services/common/build_info.h"

namespace muster {

// How a client of ours names itself: the program's name and version, e.g. `musterctl/0.1.0`.
// Servers log it with each change.
inline std::string UserAgent() {
  return absl::StrCat(program_invocation_short_name, "/", build_info::kVersion);
}

}  // namespace muster
