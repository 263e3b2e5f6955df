#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace muster::configuration {

// A version such as `570.124.06`, ordered by its numbers: 570.124.06 is newer than
// 570.86.15, 1.33.1 newer than 1.33. The text breaks ties (`1.06` and `1.6`), so that the order
// never depends on who was published first.
struct Version {
  std::vector<int64_t> numbers = {};
  std::string text = {};

  auto operator<=>(const Version&) const = default;
};

// One to four numbers of one to nine digits, separated by dots; nullopt for anything else.
std::optional<Version> ParseVersion(absl::string_view text);

// A name that a release of an image or a kernel may have instead of a version: letters, digits and
// `._:+-`, the first a letter or digit, at most kMaxImageBytes bytes.
bool IsReleaseLabel(absl::string_view text);

// True when the version's numbers begin with `prefix`: 570.124.06 fits 570.
bool Fits(const Version& version, absl::Span<const int64_t> prefix);

// `570.124`.
std::string PrintNumbers(absl::Span<const int64_t> numbers);

}  // namespace muster::configuration
