#include "services/common/http_host.h"

#include <arpa/inet.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace muster {
namespace {

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

}  // namespace

bool IsOurHost(absl::string_view host, const std::set<std::string>& names) {
  const std::string name = absl::AsciiStrToLower(WithoutPort(host));
  return name == "localhost" || IsIpv4(name) || IsIpv6(name) || names.count(name) != 0;
}

bool IsLoopback(absl::string_view address) {
  const absl::string_view host = WithoutPort(address);
  return host == "localhost" || host == "[::1]" || (IsIpv4(host) && absl::StartsWith(host, "127."));
}

}  // namespace muster
