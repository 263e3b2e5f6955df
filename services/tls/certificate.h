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

// Checks that all of `pem` can be used together now: the key fits, the certificates lead to one of
// the authorities, none has expired, all may be used for `use`, and the first has an identity of
// the trust domain (if that is empty, it needs none, and none is returned). INVALID_ARGUMENT, field
// `key`, `certificates` or `authorities`.
absl::StatusOr<Identity> CheckPem(const Pem& pem, absl::string_view trust_domain, Use use,
                                  absl::Time now);

// Checks that `authorities` holds a certificate. INVALID_ARGUMENT, field `authorities`.
absl::Status CheckAuthorities(const std::string& authorities);

// The SPIFFE ID among a certificate's URIs: the only one with the scheme `spiffe`, of the trust
// domain. INVALID_ARGUMENT: there is no such.
absl::StatusOr<std::string> SpiffeIdOf(const std::vector<std::string>& uris,
                                       absl::string_view trust_domain);

// Whether `name` may be a trust domain: 1 to 255 lower-case letters, digits, `.`, `-`, `_`.
bool IsTrustDomain(absl::string_view name);

}  // namespace muster::tls
