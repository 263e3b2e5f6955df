#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::layers {

// What a folder may include beside the standard library, Abseil and itself. Prefixes of include
// paths; $D is the domain.
struct Layer {
  const char* folder;
  const char* rule;
  std::vector<absl::string_view> allowed;
};

// The layer of a file, by the first row of the table that matches its folder.
struct Match {
  const Layer* layer;
  absl::string_view domain;  // empty: the folder names none
  std::string folder;
};

// nullopt: its folder is not in the table.
std::optional<Match> LayerOf(absl::string_view path);

// Whether a file is below a folder.
bool IsIn(absl::string_view path, absl::string_view folder);

}  // namespace muster::layers
