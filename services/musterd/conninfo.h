#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/common/watched_file.h"

namespace muster::musterd {

// The conninfo of the database: fixed, or the first line of a file that is looked at every second
// (WatchedFile). Later connections use the new one; open ones stay. Thread-safe.
class Conninfo {
 public:
  struct Options {
    std::string path = {};  // empty: `fixed` counts
    std::string fixed = {};
    absl::Duration interval = absl::Seconds(1);
  };

  // INVALID_ARGUMENT (field: --db_conninfo_file): there is none in the file, or it cannot be used.
  static absl::StatusOr<std::unique_ptr<Conninfo>> Create(Options options);

  std::string Get() const { return file_ == nullptr ? fixed_ : *file_->current(); }
  // As of WatchedFile.
  FileReloads reloads() const { return file_ == nullptr ? FileReloads() : file_->reloads(); }
  absl::Status Reload() { return file_ == nullptr ? absl::OkStatus() : file_->Reload(); }
  absl::Status Look() { return file_ == nullptr ? absl::OkStatus() : file_->Look(); }

 private:
  explicit Conninfo(std::string fixed) : fixed_(std::move(fixed)) {}

  const std::string fixed_;
  std::unique_ptr<WatchedFile<std::string>> file_;  // null: there is none
};

}  // namespace muster::musterd
