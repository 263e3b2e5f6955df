#include "services/tls/certificate_files.h"

#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/error.h"
#include "services/common/log.h"
#include "services/common/read_file.h"
#include "services/common/status_macros.h"

namespace muster::tls {
namespace {

namespace gx = grpc::experimental;

constexpr unsigned kRefreshSeconds = 1;

// Checks whose certificate it is; the handshake has checked that an authority issued it.
class IdentityVerifier final : public gx::ExternalCertificateVerifier {
 public:
  IdentityVerifier(std::string trust_domain, bool optional,
                   std::shared_ptr<std::atomic<int64_t>> refused)
      : trust_domain_(std::move(trust_domain)), optional_(optional), refused_(std::move(refused)) {}

  bool Verify(gx::TlsCustomVerificationCheckRequest* request, std::function<void(grpc::Status)>,
              grpc::Status* status) override {
    if (optional_ && request->peer_cert().empty()) return true;
    std::vector<std::string> uris;
    for (const grpc::string_ref& uri : request->uri_names())
      uris.emplace_back(uri.data(), uri.size());
    const absl::StatusOr<std::string> id = SpiffeIdOf(uris, trust_domain_);
    if (!id.ok()) {
      refused_->fetch_add(1, std::memory_order_relaxed);
      *status = grpc::Status(grpc::StatusCode::UNAUTHENTICATED, std::string(id.status().message()));
    }
    return true;
  }
  void Cancel(gx::TlsCustomVerificationCheckRequest*) override {}

 private:
  const std::string trust_domain_;
  const bool optional_;
  const std::shared_ptr<std::atomic<int64_t>> refused_;
};

std::shared_ptr<grpc::ChannelCredentials> ChannelCredentials(
    const std::shared_ptr<gx::CertificateProviderInterface>& provider,
    std::shared_ptr<gx::CertificateVerifier> verifier, bool checks_name, bool shows_own = true) {
  gx::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(provider);
  options.watch_root_certs();
  if (shows_own) options.watch_identity_key_cert_pairs();
  options.set_certificate_verifier(std::move(verifier));
  options.set_check_call_host(checks_name);
  return gx::TlsCredentials(options);
}

absl::StatusOr<std::string> ReadText(absl::string_view flag, const std::string& path) {
  std::optional<std::string> text = ReadFile(path);
  if (!text || text->empty())
    return error::InvalidField(flag, absl::StrCat(path, " cannot be read, or is empty."));
  return *std::move(text);
}

absl::StatusOr<Pem> ReadPem(const Files& files) {
  Pem pem;
  ASSIGN_OR_RETURN(pem.certificates, ReadText(files.flags.certificates, files.certificates));
  ASSIGN_OR_RETURN(pem.key, ReadText(files.flags.key, files.key));
  ASSIGN_OR_RETURN(pem.authorities, ReadText(files.flags.authorities, files.authorities));
  return pem;
}

// CheckPem, in the words of the flags.
absl::StatusOr<Identity> CheckInFiles(const Pem& pem, const Files& files) {
  absl::StatusOr<Identity> identity = CheckPem(pem, files.trust_domain, files.use, absl::Now());
  const std::optional<error::Detail> detail = error::DetailOf(identity.status());
  if (!detail || detail->fields.empty()) return identity;
  const auto& [field, description] = detail->fields[0];
  if (field == "key")
    return error::InvalidField(files.flags.key, absl::StrCat(files.key, " ", description));
  if (field == "authorities")
    return error::InvalidField(files.flags.authorities,
                               absl::StrCat(files.authorities, " ", description));
  return error::InvalidField(files.flags.certificates,
                             absl::StrCat(files.certificates, " ", description));
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ClientCredentials(Files files) {
  files.use = Use::kClient;
  ASSIGN_OR_RETURN(const Pem pem, ReadPem(files));
  RETURN_IF_ERROR(CheckInFiles(pem, files).status());
  const std::vector<gx::IdentityKeyCertPair> own = {{pem.key, pem.certificates}};
  return ChannelCredentials(
      std::make_shared<gx::StaticDataCertificateProvider>(pem.authorities, own),
      std::make_shared<gx::HostNameCertificateVerifier>(), true);
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> NamelessCredentials(const Files& files) {
  ASSIGN_OR_RETURN(const std::string authorities,
                   ReadText(files.flags.authorities, files.authorities));
  const absl::Status status = CheckAuthorities(authorities);
  if (!status.ok()) {
    return error::InvalidField(
        files.flags.authorities,
        absl::StrCat(files.authorities, " ", error::DetailOf(status)->fields[0].description));
  }
  return ChannelCredentials(std::make_shared<gx::StaticDataCertificateProvider>(authorities),
                            std::make_shared<gx::HostNameCertificateVerifier>(), true, false);
}

absl::StatusOr<std::unique_ptr<CertificateFiles>> CertificateFiles::Create(Files files) {
  ASSIGN_OR_RETURN(PemFolder copies, PemFolder::Create());
  std::unique_ptr<CertificateFiles> made(new CertificateFiles(std::move(files), std::move(copies)));
  RETURN_IF_ERROR(made->Reload());
  made->provider_ = std::make_shared<gx::FileWatcherCertificateProvider>(
      made->copies_.key(), made->copies_.certificates(), made->copies_.authorities(),
      kRefreshSeconds);
  made->thread_ = std::thread([raw = made.get()] { raw->Run(); });
  return made;
}

absl::StatusOr<std::unique_ptr<CertificateFiles>> CertificateFiles::CreateIfAny(
    const std::optional<Files>& files) {
  if (!files) return nullptr;
  return Create(*files);
}

CertificateFiles::CertificateFiles(Files files, PemFolder copies)
    : files_(std::move(files)),
      copies_(std::move(copies)),
      refused_handshakes_(std::make_shared<std::atomic<int64_t>>(0)) {}

CertificateFiles::~CertificateFiles() {
  stopper_.Stop();
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<grpc::ServerCredentials> CertificateFiles::ForServer(bool optional) const {
  gx::TlsServerCredentialsOptions options(provider_);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(optional
                                    ? GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY
                                    : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.set_certificate_verifier(gx::ExternalCertificateVerifier::Create<IdentityVerifier>(
      files_.trust_domain, optional, refused_handshakes_));
  return gx::TlsServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> CertificateFiles::ForClient() const {
  return ChannelCredentials(provider_, std::make_shared<gx::HostNameCertificateVerifier>(), true);
}

std::shared_ptr<grpc::ChannelCredentials> CertificateFiles::ForOwnServer() const {
  return ChannelCredentials(provider_, std::make_shared<gx::NoOpCertificateVerifier>(), false);
}

CertificateFiles::Stats CertificateFiles::stats() const {
  MutexLock lock(mutex_);
  Stats stats = stats_;
  stats.refused_handshakes = *refused_handshakes_;
  return stats;
}

absl::Status CertificateFiles::Look() { return Look(true); }

absl::Status CertificateFiles::Reload() { return Look(false); }

absl::Status CertificateFiles::Look(bool patient) {
  MutexLock looking(looking_);
  const absl::StatusOr<Pem> pem = ReadPem(files_);
  const bool same = pem.ok() ? seen_.ok() && *seen_ == *pem : seen_.status() == pem.status();
  seen_ = pem;
  if (pem.ok() && in_use_ == *pem) {
    MutexLock lock(mutex_);
    stats_.refused_now = false;
    return said_ = absl::OkStatus();
  }
  // Checked again at every look: a certificate that is not valid yet may become so.
  const absl::StatusOr<Identity> identity = pem.ok() ? CheckInFiles(*pem, files_) : pem.status();
  const absl::Status status = identity.ok() ? copies_.Put(*pem) : identity.status();
  MutexLock lock(mutex_);
  if (status.ok()) {
    in_use_ = *pem;
    ++stats_.taken;
    stats_.refused_now = false;
    stats_.identity = *identity;
  } else if (patient && !same) {
    return status;
  } else {
    stats_.refused_now = true;
    if (status != said_) ++stats_.refused;
  }
  return said_ = status;
}

void CertificateFiles::Run() {
  while (stopper_.Sleep(files_.interval)) {
    const Stats before = stats();
    const absl::Status status = Look();
    const Stats now = stats();
    if (now.refused > before.refused) {
      log::Error("new certificates are not used, and the last stay",
                 {{"error", status}, {"expires", absl::FormatTime(now.identity.expires)}});
    } else if (now.taken > before.taken) {
      log::Info("new certificates are used from now on",
                {{"id", now.identity.id}, {"expires", absl::FormatTime(now.identity.expires)}});
    }
  }
}

}  // namespace muster::tls
