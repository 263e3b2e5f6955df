#pragma once

#include <cstddef>

#include "absl/strings/string_view.h"

// Columns that a terminal takes for UTF-8 text without control characters (Printable).
namespace muster::musterctl {

// East Asian wide characters and pictures take two columns, marks and joiners none, all others one;
// without the C library's file of its locale C.UTF-8 each takes one.
size_t WidthOf(absl::string_view text);

// As many of the first characters as fit into `width` columns.
absl::string_view FirstOf(absl::string_view text, size_t width);

}  // namespace muster::musterctl
