#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::tokens {

enum class KeyType { kRsa, kP256, kP384, kP521 };

// A public key to check signatures with.
struct PublicKey {
  KeyType type = KeyType::kRsa;
  std::string pem = {};
};

// The public keys of an issuer of tokens, by their ids. Value type.
class KeySet {
 public:
  // Reads a JWK Set (RFC 7517). Passes over keys for encryption, keys other than RSA and EC, and
  // those that cannot be used: other curves, RSA of less than 2048 bits, a second key with the same
  // id. INVALID_ARGUMENT, naming the fields: it is no JWK Set, or no key is left.
  static absl::StatusOr<KeySet> Parse(absl::string_view json);

  // The key with that id; with an empty one, the only key. Null: there is none.
  const PublicKey* Find(absl::string_view id) const;
  size_t size() const { return keys_.size(); }
  // For people: the ids, in order, and how many cannot be used.
  std::string Ids() const;

 private:
  std::map<std::string, PublicKey, std::less<>> keys_;
  int passed_over_ = 0;  // that cannot be used
};

}  // namespace muster::tokens
