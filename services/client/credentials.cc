#include "services/client/credentials.h"

#include <grpcpp/security/credentials.h>

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/read_file.h"
#include "services/common/status_macros.h"
#include "services/tls/certificate_files.h"

namespace muster::client {
namespace {

constexpr char kAuthority[] = "certificateAuthority";
constexpr char kCertificate[] = "clientCertificate";
constexpr char kKey[] = "clientKey";
constexpr char kToken[] = "tokenFile";

std::string TokenIn(const std::string& path) {
  return std::string(absl::StripAsciiWhitespace(ReadFile(path).value_or("")));
}

// Shows what the file holds, at each call.
class TokenFile final : public grpc::MetadataCredentialsPlugin {
 public:
  explicit TokenFile(std::string path) : path_(std::move(path)) {}

  grpc::Status GetMetadata(grpc::string_ref, grpc::string_ref, const grpc::AuthContext&,
                           std::multimap<grpc::string, grpc::string>* metadata) override {
    const std::string token = TokenIn(path_);
    if (token.empty()) {
      return {grpc::StatusCode::UNAUTHENTICATED,
              absl::StrCat(path_, " cannot be read, or is empty.")};
    }
    metadata->emplace("authorization", absl::StrCat("Bearer ", token));
    return grpc::Status::OK;
  }
  bool IsBlocking() const override { return true; }

 private:
  const std::string path_;
};

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> TokenCredentials(
    const CredentialFiles& files) {
  if (!files.certificate.empty() || !files.key.empty())
    return error::InvalidField(kToken, "is given beside a certificate: say one of them.");
  if (files.authority.empty()) return error::InvalidField(kAuthority, "is required with a token.");
  if (TokenIn(files.token).empty())
    return error::InvalidField(kToken, absl::StrCat(files.token, " cannot be read, or is empty."));
  ASSIGN_OR_RETURN(auto channel, tls::NamelessCredentials({.authorities = files.authority,
                                                           .flags = {.authorities = kAuthority}}));
  return grpc::CompositeChannelCredentials(
      channel, grpc::MetadataCredentialsFromPlugin(std::make_unique<TokenFile>(files.token)));
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ReadCredentials(
    const CredentialFiles& files) {
  if (!files.token.empty()) return TokenCredentials(files);
  std::vector<error::FieldViolation> missing;
  for (const auto& [flag, file] :
       {std::pair(kAuthority, &files.authority), std::pair(kCertificate, &files.certificate),
        std::pair(kKey, &files.key)})
    if (file->empty()) missing.push_back({flag, "is required where another file of TLS is given."});
  if (missing.size() == 3) return nullptr;
  if (!missing.empty()) return error::InvalidFields(std::move(missing));
  return tls::ClientCredentials(
      {.certificates = files.certificate,
       .key = files.key,
       .authorities = files.authority,
       .flags = {.certificates = kCertificate, .key = kKey, .authorities = kAuthority}});
}

}  // namespace muster::client
