#include "services/page/core/request.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace muster::page {
namespace {

constexpr size_t kMaxFieldBytes = 512;

// Without the port. `[::1]` keeps its brackets.
absl::string_view WithoutPort(absl::string_view host) {
  const size_t colon = host.rfind(':');
  const size_t bracket = host.rfind(']');
  if (colon == absl::string_view::npos) return host;
  if (bracket != absl::string_view::npos && colon < bracket) return host;
  return host.substr(0, colon);
}

bool IsIpv4(absl::string_view host) {
  in_addr address;
  return inet_pton(AF_INET, std::string(host).c_str(), &address) == 1;
}

bool IsIpv6(absl::string_view host) {
  in6_addr address;
  return absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]") &&
         inet_pton(AF_INET6, std::string(host).c_str(), &address) == 1;
}

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

bool IsOurHost(absl::string_view host, const std::set<std::string>& names) {
  const std::string name = absl::AsciiStrToLower(WithoutPort(host));
  return name == "localhost" || IsIpv4(name) || IsIpv6(name) || names.count(name) != 0;
}

bool IsLoopback(absl::string_view address) {
  const absl::string_view host = WithoutPort(address);
  return host == "localhost" || host == "[::1]" || (IsIpv4(host) && absl::StartsWith(host, "127."));
}

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
