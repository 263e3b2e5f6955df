#include "services/kubernetes/api/server_address.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"
#include "services/kubernetes/api/token.h"

namespace muster::kubernetes {
namespace {

absl::Status RefuseServer(absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("server: ", why, "; expected https://<host>[:<port>][/<path>]"));
}

// A part of a URL; empty without.
std::string PartOf(CURLU* url, CURLUPart part, unsigned int flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK || text == nullptr) return "";
  std::string copy(text);
  curl_free(text);
  return copy;
}

bool IsHostName(absl::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-';
  });
}

absl::Status CheckPem(absl::string_view field, absl::string_view text, absl::string_view block) {
  if (text.empty() || absl::StrContains(text, block)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": holds no `", block, "` block; expected PEM"));
}

}  // namespace

absl::StatusOr<ServerAddress> ParseServerAddress(const Endpoint& endpoint) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url(curl_url(), &curl_url_cleanup);
  if (curl_url_set(url.get(), CURLUPART_URL, endpoint.server.c_str(), CURLU_NON_SUPPORT_SCHEME) !=
      CURLUE_OK) {
    return RefuseServer("is no URL");
  }
  const std::string scheme = PartOf(url.get(), CURLUPART_SCHEME);
  if (scheme != "https" && scheme != "http") return RefuseServer("its scheme is not https");
  if (!PartOf(url.get(), CURLUPART_USER).empty()) return RefuseServer("it names a user");
  if (!PartOf(url.get(), CURLUPART_QUERY).empty()) return RefuseServer("it has a query");
  if (!IsHostName(endpoint.server_name)) {
    return absl::InvalidArgumentError("server_name: is no DNS name");
  }
  const std::string port = PartOf(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
  std::string path = PartOf(url.get(), CURLUPART_PATH);
  while (absl::EndsWith(path, "/")) path.pop_back();
  ServerAddress address;
  address.tls = scheme == "https";
  address.host = absl::StrCat(PartOf(url.get(), CURLUPART_HOST), ":", port);
  address.url = absl::StrCat(scheme, "://", address.host, path);
  if (address.tls && !endpoint.server_name.empty()) {
    // The URL bears the name that is verified, the connection goes to the true host.
    const std::string named = absl::StrCat(endpoint.server_name, ":", port);
    address.url = absl::StrCat(scheme, "://", named, path);
    address.connect_to = absl::StrCat(named, ":", address.host);
  }
  return address;
}

absl::Status ValidateImpersonation(const Endpoint& endpoint, absl::string_view groups) {
  const auto refuse = [](absl::string_view field, absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": ", why));
  };
  constexpr absl::string_view kNoHeader =
      "holds control characters, or white space around it; expected a name";
  if (!IsHeaderText(endpoint.as)) return refuse("as", kNoHeader);
  if (endpoint.as.empty() && !endpoint.as_groups.empty())
    return refuse(groups, "needs `as`, the user to act as");
  for (const std::string& group : endpoint.as_groups) {
    if (group.empty()) return refuse(groups, "one is empty; expected names");
    if (!IsHeaderText(group)) return refuse(groups, absl::StrCat("one ", kNoHeader));
  }
  return absl::OkStatus();
}

absl::Status ValidateCertificates(const Endpoint& endpoint) {
  RETURN_IF_ERROR(
      CheckPem("certificate_authority", endpoint.certificate_authority, "BEGIN CERTIFICATE"));
  RETURN_IF_ERROR(CheckPem("client_certificate", endpoint.client_certificate, "BEGIN CERTIFICATE"));
  RETURN_IF_ERROR(CheckPem("client_key", endpoint.client_key, "PRIVATE KEY"));
  if (endpoint.client_certificate.empty() != endpoint.client_key.empty()) {
    return absl::InvalidArgumentError(
        "client_certificate, client_key: only one of them is set; expected both or neither");
  }
  return absl::OkStatus();
}

}  // namespace muster::kubernetes
