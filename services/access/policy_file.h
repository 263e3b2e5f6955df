#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/access/policy.h"
#include "services/common/mutex.h"
#include "services/common/stopper.h"

namespace muster::access {

// INVALID_ARGUMENT: the file cannot be read, or what is wrong with it.
absl::StatusOr<std::shared_ptr<const Policy>> ReadPolicy(const std::string& path);

// The policy that a server goes by: of a file that is looked at every second. What is put in its place counts from then on, whole,
// once two looks found the same and it can be used; until then the last that could does. Thread-safe.
class PolicyFile {
 public:
  struct Options {
    std::string path = {};  // empty: `fixed` counts
    std::shared_ptr<const Policy> fixed = {};
    absl::Duration interval = absl::Seconds(1);
  };
  struct Stats {
    int64_t taken = 0;    // times that the file was taken, the first included
    int64_t refused = 0;  // times that it changed into what cannot be used
  };

  // INVALID_ARGUMENT, as ReadPolicy.
  static absl::StatusOr<std::unique_ptr<PolicyFile>> Create(Options options);
  ~PolicyFile() { Stop(); }

  // Never null.
  std::shared_ptr<const Policy> current() const;
  Stats stats() const;
  // Called after another policy has begun to count, by the thread that looks. To be set once, and before the file changes.
  void OnChange(std::function<void()> changed);

  // The file is not looked at any more, and OnChange's function not called. Idempotent.
  void Stop();
  // Looks now: what cannot be used is refused at once. INVALID_ARGUMENT as above.
  absl::Status Reload() { return Look(false); }
  // One of the looks at every interval.
  absl::Status Look() { return Look(true); }

 private:
  explicit PolicyFile(Options options) : options_(std::move(options)) {}

  absl::Status Look(bool patient);
  absl::Status Take(const std::optional<std::string>& text);
  void Run();

  const Options options_;
  Mutex looking_;
  std::optional<std::string> seen_ MUSTER_GUARDED_BY(looking_);    // when last looked
  std::optional<std::string> judged_ MUSTER_GUARDED_BY(looking_);  // that was taken or refused last
  absl::Status said_ MUSTER_GUARDED_BY(looking_);                  // of judged_
  mutable Mutex mutex_;
  std::shared_ptr<const Policy> current_ MUSTER_GUARDED_BY(mutex_);
  Stats stats_ MUSTER_GUARDED_BY(mutex_);
  std::function<void()> changed_ MUSTER_GUARDED_BY(mutex_);
  Stopper stopper_;
  std::thread thread_;
};

}  // namespace muster::access
