#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/access/policy.h"
#include "services/common/watched_file.h"

namespace muster::access {

// Reads and parses a policy file. INVALID_ARGUMENT: it cannot be read, or has faults.
absl::StatusOr<std::shared_ptr<const Policy>> ReadPolicy(const std::string& path);

// The policy of a server: from a file that is looked at every second (WatchedFile), or a fixed one.
// Thread-safe.
class PolicyFile {
 public:
  struct Options {
    std::string path = {};  // empty: `fixed` counts
    std::shared_ptr<const Policy> fixed = {};
    absl::Duration interval = absl::Seconds(1);
  };
  using Stats = FileReloads;

  // INVALID_ARGUMENT, as ReadPolicy.
  static absl::StatusOr<std::unique_ptr<PolicyFile>> Create(Options options);

  // Never null.
  std::shared_ptr<const Policy> current() const {
    return file_ == nullptr ? fixed_ : file_->current();
  }
  Stats stats() const { return file_ == nullptr ? Stats() : file_->reloads(); }
  // As of WatchedFile.
  void OnChange(std::function<void()> changed) {
    if (file_ != nullptr) file_->OnChange(std::move(changed));
  }
  void Stop() {
    if (file_ != nullptr) file_->Stop();
  }
  absl::Status Reload() { return file_ == nullptr ? absl::OkStatus() : file_->Reload(); }
  absl::Status Look() { return file_ == nullptr ? absl::OkStatus() : file_->Look(); }

 private:
  PolicyFile() = default;

  std::shared_ptr<const Policy> fixed_;
  std::unique_ptr<WatchedFile<Policy>> file_;  // null: there is none
};

}  // namespace muster::access
