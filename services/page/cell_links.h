#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace muster::page {

// The page of another cell, which this one leads to.
struct CellLink {
  std::string cell = {};
  std::string url = {};  // http or https, ends with `/`
};

// Of `NAME=URL` each. INVALID_ARGUMENT, saying which: it is none, the URL is not of a page's root, or a name is there twice.
absl::StatusOr<std::vector<CellLink>> ParseCellLinks(absl::Span<const std::string> words);

}  // namespace muster::page
