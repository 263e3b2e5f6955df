#include "services/page/core/request.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace muster::page {
namespace {

constexpr size_t kMaxFieldBytes = 512;

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char low = absl::ascii_tolower(static_cast<unsigned char>(c));
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

std::string Unescaped(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    if (i + 2 >= text.size()) return "";
    const int high = HexDigit(text[i + 1]);
    const int low = HexDigit(text[i + 2]);
    if (high < 0 || low < 0) return "";
    out += static_cast<char>(16 * high + low);
    i += 2;
  }
  return out;
}

// Names and ids are ASCII.
bool IsPlain(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return absl::ascii_isgraph(c); });
}

}  // namespace

std::string QueryField(absl::string_view query, absl::string_view field) {
  for (const absl::string_view part : absl::StrSplit(query, '&')) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    if (pair.first != field || pair.second.size() > 3 * kMaxFieldBytes) continue;
    const std::string value = Unescaped(pair.second);
    return value.size() <= kMaxFieldBytes && IsPlain(value) ? value : "";
  }
  return "";
}

std::optional<absl::Time> ReadMoment(absl::string_view milliseconds) {
  constexpr int64_t kLast = 253'402'300'799'000;
  int64_t number = 0;
  if (!absl::SimpleAtoi(milliseconds, &number) || number < 0 || number > kLast) return std::nullopt;
  return absl::FromUnixMillis(number);
}

std::string EventId(absl::string_view epoch, const Place& place) {
  return absl::StrCat(epoch, ".", place.at, ".", place.whole, ".", place.begun);
}

Place ResumePlace(absl::string_view event_id, absl::string_view epoch) {
  const std::vector<absl::string_view> parts = absl::StrSplit(event_id, '.');
  Place place;
  if (parts.size() != 4 || parts[0] != epoch || !absl::SimpleAtoi(parts[1], &place.at) ||
      !absl::SimpleAtoi(parts[2], &place.whole) || !absl::SimpleAtoi(parts[3], &place.begun))
    return {};
  return place;
}

}  // namespace muster::page
