#include "services/configuration/core/version.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "services/configuration/core/limits.h"

namespace muster::configuration {

std::optional<Version> ParseVersion(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '.');
  if (parts.size() > kMaxVersionNumbers) return std::nullopt;
  Version version;
  for (const absl::string_view part : parts) {
    const bool digits = std::all_of(part.begin(), part.end(), [](char c) {
      return absl::ascii_isdigit(static_cast<unsigned char>(c));
    });
    int64_t number = 0;
    if (!digits || part.size() > kMaxVersionDigits || !absl::SimpleAtoi(part, &number)) {
      return std::nullopt;
    }
    version.numbers.push_back(number);
  }
  version.text = std::string(text);
  return version;
}

bool IsReleaseLabel(absl::string_view text) {
  const auto is_alnum = [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); };
  return !text.empty() && text.size() <= kMaxImageBytes && is_alnum(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_alnum(c) || absl::StrContains("._:+-", c); });
}

bool Fits(const Version& version, absl::Span<const int64_t> prefix) {
  return version.numbers.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), version.numbers.begin());
}

std::string PrintNumbers(absl::Span<const int64_t> numbers) { return absl::StrJoin(numbers, "."); }

}  // namespace muster::configuration
