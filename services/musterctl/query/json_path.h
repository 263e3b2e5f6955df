#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

// kubectl's JSONPath as far as its documentation's examples go: `.a.b`, `['a']`, `[0]`, `[-1]`,
// `[1:3]`, `[*]`, `..a`, `[?(@.a=="b")]`; in a template `{...}`, `{range .a[*]}...{end}`,
// `{"text"}`. INVALID_ARGUMENT for everything else, naming the place.
namespace muster::musterctl {

struct PathFilter;

// One step of a path.
struct PathStep {
  enum class Type { kRoot, kField, kIndex, kSlice, kWildcard, kDeep, kFilter };
  Type type = Type::kField;
  std::string field = {};
  std::optional<int64_t> from = {};  // index, begin of a slice
  std::optional<int64_t> to = {};
  std::shared_ptr<const PathFilter> filter = {};
};

class JsonPath {
 public:
  // `.a.b`, `a.b` or `{.a.b}`: as for --sort-by and columns.
  static absl::StatusOr<JsonPath> Parse(absl::string_view text);

  explicit JsonPath(std::vector<PathStep> steps = {}) : steps_(std::move(steps)) {}

  // The values that the path matches; none if a field is missing. `here`: where the path starts;
  // `root`: what `$` means.
  std::vector<const nlohmann::json*> Find(const nlohmann::json& here,
                                          const nlohmann::json& root) const;
  std::vector<const nlohmann::json*> Find(const nlohmann::json& root) const {
    return Find(root, root);
  }
  // OUT_OF_RANGE: an index is beyond the end of a list, which kubectl calls an error.
  absl::Status CheckBounds(const nlohmann::json& here, const nlohmann::json& root) const;

 private:
  std::vector<PathStep> steps_;
};

// `[?(@.a == "b")]`. Without an operator: whether the left side exists.
struct PathFilter {
  enum class Operator { kExists, kEqual, kUnequal, kLess, kAtMost, kGreater, kAtLeast };
  JsonPath left = JsonPath();
  Operator op = Operator::kExists;
  nlohmann::json value = {};
  std::optional<JsonPath> right = {};  // if set, compared with instead of `value`
};

// Text with paths in braces.
class JsonPathTemplate {
 public:
  static absl::StatusOr<JsonPathTemplate> Parse(absl::string_view text);
  // Adds no newline at the end, like kubectl. OUT_OF_RANGE as JsonPath::CheckBounds.
  absl::StatusOr<std::string> Render(const nlohmann::json& root) const;

  struct Part {
    enum class Type { kText, kPath, kRange };
    Type type = Type::kText;
    std::string text = {};
    JsonPath path = JsonPath();
    std::vector<Part> parts = {};  // of a range
  };

 private:
  std::vector<Part> parts_;
};

// A value as text: strings as they are, objects and lists as JSON on one line.
std::string PathText(const nlohmann::json& value);

}  // namespace muster::musterctl
