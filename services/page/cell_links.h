#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace muster::page {

// A link from this page to that of another cell.
struct CellLink {
  std::string cell = {};
  std::string url = {};  // http or https, ends with `/`
};

// Parses words of the form `NAME=URL`. INVALID_ARGUMENT, naming the word: it has another form, the
// URL is not a server's root, or a name occurs twice.
absl::StatusOr<std::vector<CellLink>> ParseCellLinks(absl::Span<const std::string> words);

}  // namespace muster::page
