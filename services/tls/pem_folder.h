#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/tls/certificate.h"

namespace muster::tls {

// A folder that only this user can read, with the PEM texts that were put there last; they change
// all at once. gRPC reads the files itself, whatever they are, so it gets paths through a
// descriptor that is held open: once somebody has tidied the folder away, anybody may make another
// of its name. It is removed with this object or, if the program was killed, when the next one is
// made.
class PemFolder {
 public:
  // Below `$RUNTIME_DIRECTORY`, `$TMPDIR` or `/tmp`. UNAVAILABLE: it cannot be made.
  static absl::StatusOr<PemFolder> Create();
  ~PemFolder();
  PemFolder(PemFolder&& other) noexcept;
  PemFolder& operator=(PemFolder&&) = delete;

  // Replaces the texts. UNAVAILABLE: they cannot be written, and the old ones stay.
  absl::Status Put(const Pem& pem);

  // Paths of the texts, valid as long as this lives.
  std::string key() const { return Held("now/key"); }
  std::string certificates() const { return Held("now/certificates"); }
  std::string authorities() const { return Held("now/authorities"); }

 private:
  PemFolder(std::string path, int held) : path_(std::move(path)), held_(held) {}

  std::string Held(absl::string_view file) const;
  // Makes the folder `name` in this one, in place of any that is there. If this one was tidied
  // away, makes another first.
  absl::Status MakeFolder(absl::string_view name);

  std::string path_;
  // It is open and locked, by the same number even where it is made anew; -1: moved away.
  int held_ = -1;
  int puts_ = 0;
};

}  // namespace muster::tls
