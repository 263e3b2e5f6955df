#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/tls/certificate.h"

namespace muster::tls {

// A folder that only this user reads, with the last PEM texts that were put there; they change all at once. gRPC looks at files
// itself, and takes whatever it finds there: it is told the way by what is held open, since the folder's name is anybody's once somebody
// tidied it away. Goes with this object, or when the next is made after a program that was killed.
class PemFolder {
 public:
  // Below `$RUNTIME_DIRECTORY`, `$TMPDIR` or `/tmp`. UNAVAILABLE: it cannot be made.
  static absl::StatusOr<PemFolder> Create();
  ~PemFolder();
  PemFolder(PemFolder&& other) noexcept;
  PemFolder& operator=(PemFolder&&) = delete;

  // UNAVAILABLE: it cannot be written, and is as it was.
  absl::Status Put(const Pem& pem);

  // For as long as this lives.
  std::string key() const { return Held("now/key"); }
  std::string certificates() const { return Held("now/certificates"); }
  std::string authorities() const { return Held("now/authorities"); }

 private:
  PemFolder(std::string path, int held) : path_(std::move(path)), held_(held) {}

  std::string Held(absl::string_view file) const;
  // What has its name is not looked at.
  absl::Status MakeFolder(absl::string_view name);

  std::string path_;
  // It is open and locked, by the same number even where it is made anew; -1: moved away.
  int held_ = -1;
  int puts_ = 0;
};

}  // namespace muster::tls
