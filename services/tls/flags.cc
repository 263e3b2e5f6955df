#include "services/tls/flags.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/match.h"
#include "services/common/error.h"
#include "services/common/http_host.h"
#include "services/common/status_macros.h"

ABSL_FLAG(std::string, tls_cert_file, "",
          "File with this program's certificate in PEM, followed by those that lead from it to an "
          "authority of --tls_ca_file. It "
          "names one SPIFFE ID of --trust_domain. With the other three flags all calls are made, "
          "and taken, by mutual TLS (1.2 "
          "or newer). Files that are replaced are used within seconds, once they fit each other. "
          "Empty: plain text.");
ABSL_FLAG(std::string, tls_key_file, "",
          "File with the private key of --tls_cert_file in PEM, without a passphrase.");
ABSL_FLAG(std::string, tls_ca_file, "",
          "File with the certificates of the authorities, in PEM, whose certificates are taken "
          "from others.");
ABSL_FLAG(
    std::string, trust_domain, "",
    "SPIFFE trust domain, e.g. `muster.example.org`, that callers and this program belong to: "
    "spiffe://TRUST_DOMAIN/PATH in their certificates.");

namespace muster::tls {

absl::StatusOr<std::optional<Files>> CheckFiles(Files files) {
  const std::pair<const char*, const std::string*> all[] = {
      {"--tls_cert_file", &files.certificates},
      {"--tls_key_file", &files.key},
      {"--tls_ca_file", &files.authorities},
      {"--trust_domain", &files.trust_domain}};
  std::vector<error::FieldViolation> missing;
  for (const auto& [flag, value] : all)
    if (value->empty())
      missing.push_back({flag, "is required where another flag of TLS is given."});
  if (missing.size() == std::size(all)) return std::nullopt;
  if (!missing.empty()) return error::InvalidFields(std::move(missing));
  if (!IsTrustDomain(files.trust_domain)) {
    return error::InvalidField(
        "--trust_domain",
        "must be 1 to 255 lower-case letters, digits, `.`, `-` and `_`, without `spiffe://`.");
  }
  return files;
}

absl::StatusOr<std::optional<Files>> FilesFromFlags(Use use) {
  return CheckFiles({.certificates = absl::GetFlag(FLAGS_tls_cert_file),
                     .key = absl::GetFlag(FLAGS_tls_key_file),
                     .authorities = absl::GetFlag(FLAGS_tls_ca_file),
                     .trust_domain = absl::GetFlag(FLAGS_trust_domain),
                     .use = use});
}

bool IsLocal(absl::string_view address) {
  return absl::StartsWith(address, "unix:") || IsLoopback(address);
}

}  // namespace muster::tls
