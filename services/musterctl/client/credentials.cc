#include "services/musterctl/client/credentials.h"

#include <utility>
#include <vector>

#include "services/common/error.h"
#include "services/tls/certificate_files.h"

namespace muster::musterctl {
namespace {

constexpr char kAuthority[] = "--certificate-authority";
constexpr char kCertificate[] = "--client-certificate";
constexpr char kKey[] = "--client-key";

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ReadCredentials(
    const CredentialFiles& files) {
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

}  // namespace muster::musterctl
