#include "services/common/resource_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "services/common/label_limits.h"

namespace muster {
namespace {

template <class Predicate>
bool All(absl::string_view text, Predicate predicate) {
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return predicate(static_cast<unsigned char>(c)); });
}

bool IsAlnum(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); }
bool IsWordChar(unsigned char c) {
  return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
}
bool IsLowerAlnum(unsigned char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c); }

// Configuration takes no more.
constexpr size_t kMaxVersionDigits = 9;

// A DNS label of any length.
bool IsDnsPart(absl::string_view text) {
  return !text.empty() && text.front() != '-' && text.back() != '-' &&
         All(text, [](unsigned char c) { return IsLowerAlnum(c) || c == '-'; });
}

// Of those between dots, of which there is one at least.
bool AllParts(absl::string_view text, bool (*predicate)(absl::string_view)) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '.');
  return std::all_of(parts.begin(), parts.end(), predicate);
}

}  // namespace

std::optional<std::vector<std::string>> MatchName(absl::string_view pattern,
                                                  absl::string_view name) {
  const std::vector<absl::string_view> wanted = absl::StrSplit(pattern, '/');
  const std::vector<absl::string_view> given = absl::StrSplit(name, '/');
  if (wanted.size() != given.size()) return std::nullopt;
  std::vector<std::string> parts;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == "*") {
      if (given[i].empty()) return std::nullopt;
      parts.emplace_back(given[i]);
    } else if (wanted[i] != given[i]) {
      return std::nullopt;
    }
  }
  return parts;
}

bool IsDnsLabel(absl::string_view text) { return text.size() <= 63 && IsDnsPart(text); }

bool IsDnsSubdomain(absl::string_view text, size_t max_size) {
  return text.size() <= max_size && AllParts(text, &IsDnsLabel);
}

bool IsLabelWord(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxLabelValueBytes && IsAlnum(text.front()) &&
         IsAlnum(text.back()) && All(text, IsWordChar);
}

bool IsLabelValue(absl::string_view text) { return text.empty() || IsLabelWord(text); }

bool IsLabelKey(absl::string_view text) {
  const size_t slash = text.find('/');
  if (slash == absl::string_view::npos) return IsLabelWord(text);
  return slash <= kMaxLabelPrefixBytes && AllParts(text.substr(0, slash), &IsDnsPart) &&
         IsLabelWord(text.substr(slash + 1));
}

bool IsZoneId(absl::string_view text) {
  return text.size() >= 2 && text.size() <= 32 &&
         absl::ascii_isupper(static_cast<unsigned char>(text.back())) &&
         All(text, [](unsigned char c) {
           return absl::ascii_isupper(c) || absl::ascii_isdigit(c) || c == '-';
         });
}

std::string RegionOf(absl::string_view zone_id) {
  zone_id.remove_suffix(zone_id.empty() ? 0 : 1);
  while (absl::ConsumeSuffix(&zone_id, "-")) {
  }
  return std::string(zone_id);
}

bool IsInstanceTypeId(absl::string_view text) {
  return !text.empty() && text.size() <= 63 && All(text, IsWordChar);
}

bool IsDigits(absl::string_view text, size_t max_digits) {
  return !text.empty() && text.size() <= max_digits &&
         All(text, [](unsigned char c) { return absl::ascii_isdigit(c); });
}

bool IsMinorVersion(absl::string_view text) {
  const std::vector<absl::string_view> numbers = absl::StrSplit(text, '.');
  return numbers.size() == 2 && IsDigits(numbers[0], kMaxVersionDigits) &&
         IsDigits(numbers[1], kMaxVersionDigits);
}

bool IsPoolUid(absl::string_view text) {
  return !text.empty() && text.size() <= 64 &&
         All(text, [](unsigned char c) { return IsLowerAlnum(c) || c == '-'; });
}

bool IsUnder(absl::string_view key, absl::string_view prefix) {
  if (prefix.empty()) return true;
  if (!absl::StartsWith(key, prefix)) return false;
  return key.size() == prefix.size() || prefix.back() == '/' || key[prefix.size()] == '/';
}

}  // namespace muster
