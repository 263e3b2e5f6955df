#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/musterctl/query/json_path.h"

namespace muster::musterctl {

// The indexes of `objects` sorted (stably) by the value at `path`: objects without it first,
// numbers by value, text with the numbers in it by value (`node-2` before `node-10`).
// INVALID_ARGUMENT: no object has a value there.
absl::StatusOr<std::vector<size_t>> SortedBy(absl::string_view path,
                                             const std::vector<nlohmann::json>& objects);

// Whether `a` comes before `b`, runs of digits by their value.
bool NaturalLess(absl::string_view a, absl::string_view b);

}  // namespace muster::musterctl
