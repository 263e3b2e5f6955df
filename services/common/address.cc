#include "services/common/address.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace muster {
namespace {

constexpr int kMaxPort = 65'535;

// -1: none.
int PortIn(absl::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos) return -1;
  const absl::string_view digits = address.substr(colon + 1);
  int port = 0;
  const bool is_number = !digits.empty() && absl::c_all_of(digits, [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
  return is_number && absl::SimpleAtoi(digits, &port) && port <= kMaxPort ? port : -1;
}

bool IsHostToCall(absl::string_view host) {
  const bool in_brackets = absl::StartsWith(host, "[") && absl::EndsWith(host, "]");
  if (in_brackets) host = host.substr(1, host.size() - 2);
  return !host.empty() && absl::c_all_of(host, [&](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           absl::string_view(in_brackets ? ".-%:" : ".-_").find(c) != absl::string_view::npos;
  });
}

// `unix:path` and `unix-abstract:name`.
bool IsUnixAddress(absl::string_view text) {
  return (absl::ConsumePrefix(&text, "unix:") || absl::ConsumePrefix(&text, "unix-abstract:")) &&
         !text.empty();
}

}  // namespace

bool IsHostPort(absl::string_view text) { return !IsUnixAddress(text) && PortIn(text) >= 0; }

bool IsListenAddress(absl::string_view text) { return IsUnixAddress(text) || PortIn(text) >= 0; }

bool IsPlainHost(absl::string_view text) {
  return !absl::StartsWith(text, "[") && IsHostToCall(text);
}

bool IsTarget(absl::string_view text) {
  if (IsUnixAddress(text)) return true;
  for (const absl::string_view scheme : {"ipv4:", "ipv6:", "xds:"})
    if (absl::StartsWith(text, scheme)) return true;
  if (absl::ConsumePrefix(&text, "dns://")) {
    // An authority may stand before the slash: the name server to ask.
    const size_t slash = text.find('/');
    if (slash == absl::string_view::npos) return false;
    text.remove_prefix(slash + 1);
  } else {
    absl::ConsumePrefix(&text, "dns:");
  }
  return PortIn(text) > 0 && IsHostToCall(text.substr(0, text.rfind(':')));
}

}  // namespace muster
