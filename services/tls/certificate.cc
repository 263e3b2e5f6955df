#include "services/tls/certificate.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"

namespace muster::tls {
namespace {

template <auto free>
struct Free {
  template <class T>
  void operator()(T* what) const {
    free(what);
  }
};
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Bio = std::unique_ptr<BIO, Free<BIO_free>>;
using Store = std::unique_ptr<X509_STORE, Free<X509_STORE_free>>;
using StoreContext = std::unique_ptr<X509_STORE_CTX, Free<X509_STORE_CTX_free>>;
// A list of certificates that it does not own.
using Stack =
    std::unique_ptr<STACK_OF(X509), Free<[](STACK_OF(X509) * stack) { sk_X509_free(stack); }>>;
using Names = std::unique_ptr<GENERAL_NAMES, Free<GENERAL_NAMES_free>>;

Bio ReaderOf(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// A key with a passphrase is refused instead of asked for.
int NoPassphrase(char*, int, int, void*) { return 0; }

std::vector<Certificate> ReadCertificates(const std::string& text) {
  std::vector<Certificate> certificates;
  const Bio reader = ReaderOf(text);
  while (X509* const certificate = PEM_read_bio_X509(reader.get(), nullptr, NoPassphrase, nullptr))
    certificates.emplace_back(certificate);
  ERR_clear_error();
  return certificates;
}

Key ReadKey(const std::string& text) {
  Key key(PEM_read_bio_PrivateKey(ReaderOf(text).get(), nullptr, NoPassphrase, nullptr));
  ERR_clear_error();
  return key;
}

std::vector<std::string> UrisOf(X509* certificate) {
  std::vector<std::string> uris;
  const Names names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    const ASN1_IA5STRING* const uri = name->d.uniformResourceIdentifier;
    uris.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                      static_cast<size_t>(ASN1_STRING_length(uri)));
  }
  return uris;
}

absl::Time ToTime(const ASN1_TIME* time) {
  std::tm at = {};
  return ASN1_TIME_to_tm(time, &at) == 1 ? absl::FromTM(at, absl::UTCTimeZone())
                                         : absl::InfiniteFuture();
}

// What Debian's OpenSSL requires of certificates in a handshake: 112 bits, no SHA-1.
constexpr int kSecurityLevel = 2;

// The first expiry in the chain from the first certificate to an authority, good for `purpose`.
// INVALID_ARGUMENT: there is no such now.
absl::StatusOr<absl::Time> ExpiryOfChain(const std::vector<Certificate>& certificates,
                                         const std::vector<Certificate>& authorities, int purpose,
                                         absl::Time now) {
  const Store store(X509_STORE_new());
  for (const Certificate& authority : authorities)
    X509_STORE_add_cert(store.get(), authority.get());
  const Stack between(sk_X509_new_null());
  for (size_t i = 1; i < certificates.size(); ++i)
    sk_X509_push(between.get(), certificates[i].get());
  const StoreContext context(X509_STORE_CTX_new());
  X509_STORE_CTX_init(context.get(), store.get(), certificates[0].get(), between.get());
  X509_STORE_CTX_set_time(context.get(), 0, absl::ToTimeT(now));
  X509_STORE_CTX_set_purpose(context.get(), purpose);
  X509_VERIFY_PARAM_set_auth_level(X509_STORE_CTX_get0_param(context.get()), kSecurityLevel);
  const bool leads = X509_verify_cert(context.get()) == 1;
  ERR_clear_error();
  if (!leads) {
    const int fault = X509_STORE_CTX_get_error(context.get());
    if (fault == X509_V_ERR_INVALID_PURPOSE) {
      return error::InvalidField(
          "certificates", purpose == X509_PURPOSE_SSL_CLIENT
                              ? "must be for clients (extended key usage clientAuth)."
                              : "must be for servers and, towards others, for clients (extended "
                                "key usage serverAuth and clientAuth).");
    }
    return error::InvalidField("certificates",
                               absl::StrCat("cannot be used with these authorities now: ",
                                            X509_verify_cert_error_string(fault), "."));
  }
  absl::Time first = absl::InfiniteFuture();
  const STACK_OF(X509)* const chain = X509_STORE_CTX_get0_chain(context.get());
  for (int i = 0; i < sk_X509_num(chain); ++i)
    first = std::min(first, ToTime(X509_get0_notAfter(sk_X509_value(chain, i))));
  return first;
}

}  // namespace

bool IsTrustDomain(absl::string_view name) {
  const auto allowed = [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '.' || c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= 255 && std::all_of(name.begin(), name.end(), allowed);
}

absl::StatusOr<std::string> SpiffeIdOf(const std::vector<std::string>& uris,
                                       absl::string_view trust_domain) {
  constexpr absl::string_view kScheme = "spiffe://";
  // gRPC takes no identity from a certificate with more URIs, whatever they are.
  if (uris.size() != 1) {
    return error::InvalidField(
        "certificates",
        absl::StrCat("must name exactly one URI, a SPIFFE ID; the first names ", uris.size(), "."));
  }
  absl::string_view rest = uris[0];
  const bool is_of_domain = absl::ConsumePrefix(&rest, kScheme) &&
                            absl::ConsumePrefix(&rest, trust_domain) && rest.size() > 1 &&
                            rest[0] == '/';
  if (!is_of_domain) {
    return error::InvalidField("certificates",
                               absl::StrCat("must name a SPIFFE ID below spiffe://", trust_domain,
                                            "/, and not ", absl::CEscape(uris[0]), "."));
  }
  return uris[0];
}

absl::Status CheckAuthorities(const std::string& authorities) {
  if (!ReadCertificates(authorities).empty()) return absl::OkStatus();
  return error::InvalidField("authorities", "has no certificate in PEM.");
}

absl::StatusOr<Identity> CheckPem(const Pem& pem, absl::string_view trust_domain, Use use,
                                  absl::Time now) {
  const std::vector<Certificate> certificates = ReadCertificates(pem.certificates);
  if (certificates.empty())
    return error::InvalidField("certificates", "has no certificate in PEM.");
  const std::vector<Certificate> authorities = ReadCertificates(pem.authorities);
  RETURN_IF_ERROR(CheckAuthorities(pem.authorities));
  const Key key = ReadKey(pem.key);
  if (key == nullptr)
    return error::InvalidField("key", "has no private key in PEM without a passphrase.");
  X509* const own = certificates[0].get();
  const bool fits = X509_check_private_key(own, key.get()) == 1;
  ERR_clear_error();
  if (!fits) return error::InvalidField("key", "is not the key of the first of the certificates.");
  Identity identity{.begins = ToTime(X509_get0_notBefore(own))};
  ASSIGN_OR_RETURN(identity.expires,
                   ExpiryOfChain(certificates, authorities, X509_PURPOSE_SSL_CLIENT, now));
  if (use == Use::kServer) {
    RETURN_IF_ERROR(
        ExpiryOfChain(certificates, authorities, X509_PURPOSE_SSL_SERVER, now).status());
  }
  if (trust_domain.empty()) return identity;
  ASSIGN_OR_RETURN(identity.id, SpiffeIdOf(UrisOf(own), trust_domain));
  return identity;
}

}  // namespace muster::tls
