#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/musterctl/query/json_path.h"

namespace muster::musterctl {

// A column of `-o custom-columns=`.
struct Column {
  std::string header = {};
  JsonPath path = JsonPath();
};

// `NAME:.metadata.name,NODES:.spec.targetNodes`. INVALID_ARGUMENT names the column.
absl::StatusOr<std::vector<Column>> ParseColumns(absl::string_view text);

// The cells of one row: `<none>` if there is no value, several values joined by commas.
std::vector<std::string> CellsOf(const std::vector<Column>& columns, const nlohmann::json& object);

}  // namespace muster::musterctl
