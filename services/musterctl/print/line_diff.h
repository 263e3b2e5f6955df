#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster::musterctl {

// What `diff -u` prints of two texts below its two lines of file names: hunks with three lines of
// context. Empty: the texts are the same.
std::string LineDiff(absl::string_view before, absl::string_view after);

}  // namespace muster::musterctl
