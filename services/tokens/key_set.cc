#include "services/tokens/key_set.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/tokens/json_fields.h"

namespace muster::tokens {
namespace {

constexpr size_t kMaxBytes = 1 << 20;
constexpr size_t kMaxKeys = 100;
constexpr int kMinRsaBits = 2048;

template <class T, void (*free)(T*)>
struct Free {
  void operator()(T* pointer) const { free(pointer); }
};
template <class T, void (*free)(T*)>
using Owned = std::unique_ptr<T, Free<T, free>>;
void FreeBio(BIO* bio) { BIO_free(bio); }
using OwnedBio = Owned<BIO, FreeBio>;
using OwnedNumber = Owned<BIGNUM, BN_free>;
using OwnedBuilder = Owned<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free>;
using OwnedParams = Owned<OSSL_PARAM, OSSL_PARAM_free>;
using OwnedKey = Owned<EVP_PKEY, EVP_PKEY_free>;
using OwnedContext = Owned<EVP_PKEY_CTX, EVP_PKEY_CTX_free>;

struct Curve {
  absl::string_view id;  // in a JWK
  KeyType type;
  const char* group;  // OpenSSL's name
  size_t bytes;       // of a coordinate
};
constexpr Curve kCurves[] = {{"P-256", KeyType::kP256, "prime256v1", 32},
                             {"P-384", KeyType::kP384, "secp384r1", 48},
                             {"P-521", KeyType::kP521, "secp521r1", 66}};

// The bytes of a base64url field; empty: there are none.
std::string Bytes(const nlohmann::json& key, const char* field) {
  std::string bytes;
  if (!absl::WebSafeBase64Unescape(StringIn(key, field), &bytes)) bytes.clear();
  return bytes;
}

OwnedKey MakeKey(const char* kind, OSSL_PARAM_BLD* builder) {
  const OwnedParams params(OSSL_PARAM_BLD_to_param(builder));
  const OwnedContext context(EVP_PKEY_CTX_new_from_name(nullptr, kind, nullptr));
  EVP_PKEY* key = nullptr;
  if (params == nullptr || context == nullptr || EVP_PKEY_fromdata_init(context.get()) <= 0 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) <= 0) {
    return nullptr;
  }
  return OwnedKey(key);
}

std::optional<PublicKey> ToPem(KeyType type, const OwnedKey& key) {
  const OwnedBio out(BIO_new(BIO_s_mem()));
  if (key == nullptr || out == nullptr || PEM_write_bio_PUBKEY(out.get(), key.get()) != 1)
    return std::nullopt;
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return PublicKey{type, std::string(text, static_cast<size_t>(size))};
}

OwnedNumber Number(const std::string& bytes) {
  return OwnedNumber(BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                               static_cast<int>(bytes.size()), nullptr));
}

absl::StatusOr<PublicKey> RsaKey(const nlohmann::json& json, const std::string& path) {
  const std::string n = Bytes(json, "n"), e = Bytes(json, "e");
  if (n.empty()) return error::InvalidField(absl::StrCat(path, ".n"), "must be base64url.");
  if (e.empty()) return error::InvalidField(absl::StrCat(path, ".e"), "must be base64url.");
  const OwnedNumber modulus = Number(n), exponent = Number(e);
  const OwnedBuilder builder(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get());
  const OwnedKey key = MakeKey("RSA", builder.get());
  if (key != nullptr && EVP_PKEY_get_bits(key.get()) < kMinRsaBits) {
    return error::InvalidField(absl::StrCat(path, ".n"),
                               absl::StrCat("must have ", kMinRsaBits, " bits or more."));
  }
  if (std::optional<PublicKey> made = ToPem(KeyType::kRsa, key)) return *std::move(made);
  return error::InvalidField(path, "is no RSA key.");
}

absl::StatusOr<PublicKey> EcKey(const nlohmann::json& json, const std::string& path) {
  const std::string id = StringIn(json, "crv");
  for (const Curve& curve : kCurves) {
    if (curve.id != id) continue;
    const std::string x = Bytes(json, "x"), y = Bytes(json, "y");
    if (x.size() != curve.bytes || y.size() != curve.bytes) {
      return error::InvalidField(
          path, absl::StrCat("x and y must each be ", curve.bytes, " bytes in base64url."));
    }
    const std::string point = absl::StrCat("\x04", x, y);
    const OwnedBuilder builder(OSSL_PARAM_BLD_new());
    OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, curve.group, 0);
    OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                     point.size());
    std::optional<PublicKey> made = ToPem(curve.type, MakeKey("EC", builder.get()));
    if (made) return *std::move(made);
    return error::InvalidField(path, absl::StrCat("is no point of ", id, "."));
  }
  return error::InvalidField(absl::StrCat(path, ".crv"), "must be P-256, P-384 or P-521.");
}

// Reads one key; nullopt: it is not for signatures, or of another kind.
absl::StatusOr<std::optional<PublicKey>> ToKey(const nlohmann::json& json,
                                               const std::string& path) {
  if (!json.is_object()) return error::InvalidField(path, "must be an object.");
  const std::string use = StringIn(json, "use");
  if (!use.empty() && use != "sig") return std::optional<PublicKey>();
  const std::string kind = StringIn(json, "kty");
  if (kind.empty()) return error::InvalidField(absl::StrCat(path, ".kty"), "is required.");
  if (kind != "RSA" && kind != "EC") return std::optional<PublicKey>();
  ASSIGN_OR_RETURN(PublicKey key, kind == "RSA" ? RsaKey(json, path) : EcKey(json, path));
  return std::optional<PublicKey>(std::move(key));
}

}  // namespace

absl::StatusOr<KeySet> KeySet::Parse(absl::string_view json) {
  if (json.size() > kMaxBytes) return error::InvalidField("file", "must have 1 MiB at most.");
  const auto document = nlohmann::json::parse(json.begin(), json.end(), nullptr, false);
  if (document.is_discarded() || !document.is_object() || !document.contains("keys") ||
      !document["keys"].is_array()) {
    return error::InvalidField("keys", "must be a list: the file is to be a JWK Set (RFC 7517).");
  }
  const auto& list = document["keys"];
  if (list.size() > kMaxKeys)
    return error::InvalidField("keys", absl::StrCat("must be ", kMaxKeys, " at most."));
  KeySet set;
  std::vector<error::FieldViolation> passed_over;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string path = absl::StrCat("keys[", i, "]");
    absl::StatusOr<std::optional<PublicKey>> key = ToKey(list[i], path);
    if (!key.ok()) {
      passed_over.push_back(error::DetailOf(key.status())->fields[0]);
    } else if (*key && !set.keys_.emplace(StringIn(list[i], "kid"), **key).second) {
      passed_over.push_back({absl::StrCat(path, ".kid"), "is another key's, too."});
    }
  }
  set.passed_over_ = static_cast<int>(passed_over.size());
  if (!set.keys_.empty()) return set;
  if (!passed_over.empty()) return error::InvalidFields(std::move(passed_over));
  return error::InvalidField("keys", "has none to check signatures with, of kind RSA or EC.");
}

const PublicKey* KeySet::Find(absl::string_view id) const {
  if (id.empty() && keys_.size() == 1) return &keys_.begin()->second;
  const auto found = keys_.find(id);
  return found == keys_.end() ? nullptr : &found->second;
}

std::string KeySet::Ids() const {
  std::string ids = absl::StrJoin(
      keys_, " ", [](std::string* out, const auto& key) { absl::StrAppend(out, key.first); });
  if (passed_over_ > 0) absl::StrAppend(&ids, " (", passed_over_, " cannot be used)");
  return ids;
}

}  // namespace muster::tokens
