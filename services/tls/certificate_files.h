#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/stopper.h"
#include "services/tls/certificate.h"
#include "services/tls/pem_folder.h"

namespace muster::tls {

struct Files {
  std::string certificates = {};
  std::string key = {};
  std::string authorities = {};
  std::string trust_domain = {};  // empty: a client's, whose server has one
  Use use = Use::kServer;
  absl::Duration interval = absl::Seconds(1);  // how often they are looked at
  // What errors call them.
  struct Flags {
    std::string certificates = "--tls_cert_file";
    std::string key = "--tls_key_file";
    std::string authorities = "--tls_ca_file";
  } flags = {};
};

// Credentials to call servers, from the files as they are now: for a program that soon ends. Errors
// as CertificateFiles::Create.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ClientCredentials(Files files);

// Credentials to call servers without a certificate of one's own: only `files.authorities` is used.
// INVALID_ARGUMENT: it cannot be.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> NamelessCredentials(const Files& files);

// Credentials from files, for as long as a program runs: new contents are used for handshakes
// within a few seconds, once they can be used as a whole; until then the last usable ones are. Open
// connections are not touched. Thread-safe.
class CertificateFiles {
 public:
  // INVALID_ARGUMENT: a file cannot be read, or what they say cannot be used (field: the flag);
  // UNAVAILABLE: no folder can be made for copies.
  static absl::StatusOr<std::unique_ptr<CertificateFiles>> Create(Files files);
  // The same; null if `files` is not set: plain text.
  static absl::StatusOr<std::unique_ptr<CertificateFiles>> CreateIfAny(
      const std::optional<Files>& files);
  ~CertificateFiles();

  // A caller must show a certificate of the authorities with one SPIFFE ID of the trust domain; or,
  // with `optional`, none (and a token instead).
  std::shared_ptr<grpc::ServerCredentials> ForServer(bool optional = false) const;
  // The server must show a certificate of the authorities for the name that it was called by.
  std::shared_ptr<grpc::ChannelCredentials> ForClient() const;
  // The same, but for any name: to call this process's own server.
  std::shared_ptr<grpc::ChannelCredentials> ForOwnServer() const;

  struct Stats {
    Identity identity = {};          // that is shown now
    int64_t taken = 0;               // how often the files were put to use, the first time included
    int64_t refused = 0;             // how often they changed into something that cannot be used
    bool refused_now = false;        // they cannot be used as they are now
    int64_t refused_handshakes = 0;  // callers whose certificate has no identity here
  };
  Stats stats() const;

  // Looks at the files now, and takes or refuses them at once. INVALID_ARGUMENT, UNAVAILABLE as
  // above.
  absl::Status Reload();
  // The look that is made every `interval`: files that cannot be used may be half written, and are
  // refused when the next look finds the same.
  absl::Status Look();

 private:
  CertificateFiles(Files files, PemFolder folder);

  absl::Status Look(bool patient);
  void Run();

  const Files files_;
  PemFolder copies_;  // of what was taken last, for gRPC; put by whoever holds looking_
  const std::shared_ptr<std::atomic<int64_t>> refused_handshakes_;
  std::shared_ptr<grpc::experimental::CertificateProviderInterface>
      provider_;  // of copies_, once there are any
  Mutex looking_;
  absl::StatusOr<Pem> seen_ MUSTER_GUARDED_BY(looking_) = Pem();  // when last looked
  std::optional<Pem> in_use_ MUSTER_GUARDED_BY(looking_);
  absl::Status said_ MUSTER_GUARDED_BY(looking_);  // of what was taken or refused last
  mutable Mutex mutex_;
  Stats stats_ MUSTER_GUARDED_BY(mutex_);
  Stopper stopper_;
  std::thread thread_;
};

}  // namespace muster::tls
