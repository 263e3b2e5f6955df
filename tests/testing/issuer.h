#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

struct evp_pkey_st;

namespace muster::testing {

// An issuer of JSON Web Tokens, with OpenSSL alone: keys, the JWK Set that shows them, tokens.
class Issuer {
 public:
  static constexpr char kName[] = "https://issuer.test";
  static constexpr char kAudience[] = "muster";

  // Makes a new key under that id, in place of an earlier one. `curve`: P-256, P-384 or P-521.
  void AddRsaKey(const std::string& id, int bits = 2048);
  void AddEcKey(const std::string& id, const std::string& curve);
  void RemoveKey(const std::string& id) { keys_.erase(id); }

  // The public keys as a JWK Set.
  std::string KeySet() const;
  // A token with these claims, a JSON object, signed with that key by that algorithm: RS256, ES384,
  // ...
  std::string Sign(const std::string& key, const std::string& algorithm,
                   const std::string& claims) const;
  // The same with `header` as it is, whatever it says; `algorithm` decides how it is signed.
  std::string SignWith(const std::string& key, const std::string& algorithm,
                       const std::string& header, const std::string& claims) const;
  // A token that is as it should be: ClaimsOf, signed by RS256 with the key `rsa`, which must have
  // been added.
  std::string TokenOf(const std::string& subject,
                      absl::Time expires = absl::Now() + absl::Hours(1)) const;
  // From kName, for kAudience.
  static std::string ClaimsOf(const std::string& subject, absl::Time expires);

 private:
  struct FreeKey {
    void operator()(evp_pkey_st* key) const;
  };
  struct Key {
    std::unique_ptr<evp_pkey_st, FreeKey> key = {};
    std::string curve = {};  // empty: RSA
  };
  std::map<std::string, Key> keys_;
};

}  // namespace muster::testing
