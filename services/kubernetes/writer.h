#pragma once

#include <functional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/random/random.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"
#include "services/kubernetes/api/client.h"

namespace muster::kubernetes {

// When a write that failed may be tried again: after a pause that doubles with every failure in a
// row, less a random part of up to half. Thread-safe.
class WriteBackoff {
 public:
  struct Options {
    absl::Duration first = absl::Milliseconds(50);
    absl::Duration last = absl::Seconds(30);
  };
  explicit WriteBackoff(Options options) : options_(options) {}
  WriteBackoff() : WriteBackoff(Options()) {}

  // How long it is to wait; zero: it may be tried. `now`: of a steady clock.
  absl::Duration PauseOf(const std::string& write, absl::Duration now) const;
  // `at_least`: as the API server asked.
  void Failed(const std::string& write, absl::Duration now,
              absl::Duration at_least = absl::ZeroDuration());
  void Succeeded(const std::string& write);
  size_t size() const;

 private:
  struct State {
    int failures = 0;
    absl::Duration due = -absl::InfiniteDuration();
  };
  // Forgets writes that nobody tries any more: their objects are gone.
  void Trim(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  mutable Mutex mutex_;
  absl::flat_hash_map<std::string, State> states_ MUSTER_GUARDED_BY(mutex_);
  size_t trim_size_ MUSTER_GUARDED_BY(mutex_) = 1024;
  absl::BitGen random_ MUSTER_GUARDED_BY(mutex_);
};

// Changes the cluster's objects. What the API server refused is not sent again before its pause is
// over, whatever makes somebody want it: a change on either side, another pass, a retry. What got
// no answer is not held back: the first word of a server that is there again has all of it tried.
// Thread-safe.
class Writer {
 public:
  explicit Writer(Client* api, WriteBackoff::Options options = {},
                  const SteadyClock* clock = TheSteadyClock())
      : api_(*api), clock_(*clock), backoff_(options) {}

  // As the Client's; Delete: of the object of that uid only. UNAVAILABLE with
  // ErrorOf().retry_after: it is held back. `part`: a write of this part of the object is not held
  // back by refusals of the rest.
  absl::StatusOr<Json> Patch(PatchType type, const std::string& path, const Json& patch,
                             const Parameters& parameters, absl::string_view part = "");
  absl::Status Delete(const std::string& path, const std::string& uid);

 private:
  absl::StatusOr<Json> Try(const std::string& write,
                           const std::function<absl::StatusOr<Json>()>& send);

  Client& api_;
  const SteadyClock& clock_;
  WriteBackoff backoff_;
};

}  // namespace muster::kubernetes
