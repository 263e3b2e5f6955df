#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

// Who a program is and whom it trusts, as PEM texts.
namespace muster::tls {

struct Pem {
  std::string key = {};           // private, of the first certificate
  std::string certificates = {};  // its own first, then those that lead to an authority
  std::string authorities = {};   // whose certificates are taken
  bool operator==(const Pem&) const = default;
};

struct Identity {
  std::string id = {};      // `spiffe://TRUST_DOMAIN/PATH`
  absl::Time begins = {};   // since when the first of `certificates` is good
  absl::Time expires = {};  // when the first on the way from it to an authority does
  bool operator==(const Identity&) const = default;
};

// How a certificate is to be used. A server shows its own to other servers too.
enum class Use { kClient, kServer };

// That all of it can be used together now: the key fits, the certificates lead to one of the authorities, none has expired, all
// may be used so, and the first has an identity of the trust domain (empty: it needs none, and none is told). INVALID_ARGUMENT,
// field `key`, `certificates` or `authorities`.
absl::StatusOr<Identity> CheckPem(const Pem& pem, absl::string_view trust_domain, Use use,
                                  absl::Time now);

// That there is a certificate among them. INVALID_ARGUMENT, field `authorities`.
absl::Status CheckAuthorities(const std::string& authorities);

// Of a certificate's URIs the only one with the scheme `spiffe`, which must be the trust domain's. INVALID_ARGUMENT otherwise.
absl::StatusOr<std::string> SpiffeIdOf(const std::vector<std::string>& uris,
                                       absl::string_view trust_domain);

// What a trust domain may be called: lower-case letters, digits, `.`, `-`, `_`; 1 to 255 of them.
bool IsTrustDomain(absl::string_view name);

}  // namespace muster::tls
