#include "tests/testing/issuer.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::testing {
namespace {

std::string Encode(absl::string_view bytes) { return absl::WebSafeBase64Escape(bytes); }

// A number of a key, in base64url. `size`: bytes to fill up to with leading zeros; 0: as many as
// the number has.
std::string NumberOf(const EVP_PKEY* key, const char* name, size_t size = 0) {
  BIGNUM* number = nullptr;
  if (EVP_PKEY_get_bn_param(key, name, &number) != 1) throw std::runtime_error(name);
  std::string bytes(size == 0 ? static_cast<size_t>(BN_num_bytes(number)) : size, '\0');
  BN_bn2binpad(number, reinterpret_cast<unsigned char*>(bytes.data()),
               static_cast<int>(bytes.size()));
  BN_free(number);
  return Encode(bytes);
}

size_t CoordinateOf(const std::string& curve) {
  return curve == "P-256" ? 32 : curve == "P-384" ? 48 : 66;
}

// An EC signature as tokens have it: both numbers one behind the other, each of `size` bytes.
std::string RawSignature(const std::string& der, size_t size) {
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  ECDSA_SIG* signature = d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size()));
  std::string raw(2 * size, '\0');
  auto* out = reinterpret_cast<unsigned char*>(raw.data());
  BN_bn2binpad(ECDSA_SIG_get0_r(signature), out, static_cast<int>(size));
  BN_bn2binpad(ECDSA_SIG_get0_s(signature), out + size, static_cast<int>(size));
  ECDSA_SIG_free(signature);
  return raw;
}

}  // namespace

void Issuer::FreeKey::operator()(evp_pkey_st* key) const { EVP_PKEY_free(key); }

void Issuer::AddRsaKey(const std::string& id, int bits) {
  Key key;
  key.key.reset(EVP_RSA_gen(static_cast<unsigned>(bits)));
  if (key.key == nullptr) throw std::runtime_error("no RSA key");
  keys_[id] = std::move(key);
}

void Issuer::AddEcKey(const std::string& id, const std::string& curve) {
  Key key;
  key.key.reset(EVP_EC_gen(curve.c_str()));
  if (key.key == nullptr) throw std::runtime_error("no EC key");
  key.curve = curve;
  keys_[id] = std::move(key);
}

std::string Issuer::KeySet() const {
  std::vector<std::string> shown;
  for (const auto& [id, key] : keys_) {
    if (key.curve.empty()) {
      shown.push_back(absl::StrCat(R"({"kty":"RSA","use":"sig","kid":")", id, R"(","n":")",
                                   NumberOf(key.key.get(), OSSL_PKEY_PARAM_RSA_N), R"(","e":")",
                                   NumberOf(key.key.get(), OSSL_PKEY_PARAM_RSA_E), "\"}"));
    } else {
      const size_t size = CoordinateOf(key.curve);
      shown.push_back(
          absl::StrCat(R"({"kty":"EC","kid":")", id, R"(","crv":")", key.curve, R"(","x":")",
                       NumberOf(key.key.get(), OSSL_PKEY_PARAM_EC_PUB_X, size), R"(","y":")",
                       NumberOf(key.key.get(), OSSL_PKEY_PARAM_EC_PUB_Y, size), "\"}"));
    }
  }
  return absl::StrCat(R"({"keys":[)", absl::StrJoin(shown, ","), "]}");
}

std::string Issuer::Sign(const std::string& key, const std::string& algorithm,
                         const std::string& claims) const {
  return SignWith(key, algorithm,
                  absl::StrCat(R"({"alg":")", algorithm, R"(","kid":")", key, R"(","typ":"JWT"})"),
                  claims);
}

std::string Issuer::SignWith(const std::string& key, const std::string& algorithm,
                             const std::string& header, const std::string& claims) const {
  const std::string content = absl::StrCat(Encode(header), ".", Encode(claims));
  const Key& with = keys_.at(key);
  const std::string digest = absl::StrCat("SHA", algorithm.substr(2));
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  size_t size = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(content.data());
  std::string signature;
  const bool done = EVP_DigestSignInit_ex(context, nullptr, digest.c_str(), nullptr, nullptr,
                                          with.key.get(), nullptr) == 1 &&
                    EVP_DigestSign(context, nullptr, &size, bytes, content.size()) == 1 &&
                    (signature.resize(size),
                     EVP_DigestSign(context, reinterpret_cast<unsigned char*>(signature.data()),
                                    &size, bytes, content.size()) == 1);
  EVP_MD_CTX_free(context);
  if (!done) throw std::runtime_error("cannot sign");
  signature.resize(size);
  if (!with.curve.empty()) signature = RawSignature(signature, CoordinateOf(with.curve));
  return absl::StrCat(content, ".", Encode(signature));
}

std::string Issuer::ClaimsOf(const std::string& subject, absl::Time expires) {
  return absl::StrCat(R"({"iss":")", kName, R"(","aud":")", kAudience, R"(","sub":")", subject,
                      R"(","exp":)", absl::ToUnixSeconds(expires), "}");
}

std::string Issuer::TokenOf(const std::string& subject, absl::Time expires) const {
  return Sign("rsa", "RS256", ClaimsOf(subject, expires));
}

}  // namespace muster::testing
