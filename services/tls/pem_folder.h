#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/tls/certificate.h"

namespace muster::tls {

// A folder that only this user reads, with the last PEM texts that were put there; they change all at once. gRPC looks at files
// itself, and takes whatever it finds there. Goes with this object, or when the next is made after a program that was killed.
class PemFolder {
 public:
  // Below `$RUNTIME_DIRECTORY`, `$TMPDIR` or `/tmp`. UNAVAILABLE: it cannot be made.
  static absl::StatusOr<PemFolder> Create();
  ~PemFolder();
  PemFolder(PemFolder&& other) noexcept;
  PemFolder& operator=(PemFolder&&) = delete;

  // UNAVAILABLE: it cannot be written, and is as it was.
  absl::Status Put(const Pem& pem);

  std::string key() const { return path_ + "/now/key"; }
  std::string certificates() const { return path_ + "/now/certificates"; }
  std::string authorities() const { return path_ + "/now/authorities"; }

 private:
  PemFolder(std::string path, int lock);

  std::string path_;  // empty: moved away
  int lock_ = -1;     // it is open and locked for as long as somebody has it
  int puts_ = 0;
};

}  // namespace muster::tls
