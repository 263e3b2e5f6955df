#include "services/musterctl/query/columns.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/status_macros.h"

namespace muster::musterctl {
namespace {

// At the commas outside of brackets and quotes: a filter may have some.
std::vector<std::string> SplitColumns(absl::string_view text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[') {
      ++depth;
    } else if (c == ']') {
      --depth;
    } else if (c == ',' && depth == 0) {
      parts.emplace_back();
      continue;
    }
    parts.back() += c;
  }
  return parts;
}

}  // namespace

absl::StatusOr<std::vector<Column>> ParseColumns(absl::string_view text) {
  std::vector<Column> columns;
  for (const std::string& part : SplitColumns(text)) {
    const size_t colon = part.find(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == part.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "custom-columns: \"", part, "\": must be HEADER:PATH, e.g. NAME:.metadata.name"));
    }
    ASSIGN_OR_RETURN(JsonPath path, JsonPath::Parse(part.substr(colon + 1)));
    columns.push_back({part.substr(0, colon), std::move(path)});
  }
  return columns;
}

std::vector<std::string> CellsOf(const std::vector<Column>& columns, const nlohmann::json& object) {
  std::vector<std::string> cells;
  for (const Column& column : columns) {
    const auto found = column.path.Find(object);
    cells.push_back(found.empty()
                        ? "<none>"
                        : absl::StrJoin(found, ",", [](std::string* out, const auto* value) {
                            absl::StrAppend(out, PathText(*value));
                          }));
  }
  return cells;
}

}  // namespace muster::musterctl
