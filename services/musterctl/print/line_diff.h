#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster::musterctl {

// What `diff -u` prints of two texts below its two lines of names: hunks with three lines around what differs. Empty: the
// same.
std::string LineDiff(absl::string_view before, absl::string_view after);

}  // namespace muster::musterctl
