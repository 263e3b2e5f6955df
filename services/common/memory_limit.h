#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "services/common/steady_clock.h"

namespace muster {

// The process's resident memory, as the kernel counts it; 0: not known.
int64_t ResidentBytes();
// The least memory limit of the control groups (version 2 or 1) that the process is in; 0: there is
// none. `root`: of the file system.
int64_t CgroupMemoryLimit(const std::string& root = "/");

// How much memory the process may take. Lets it refuse new work before the kernel ends it for what
// it has. Thread-safe.
class MemoryLimit {
 public:
  using Resident = std::function<int64_t()>;

  // `bytes`: 0: none.
  explicit MemoryLimit(int64_t bytes, const SteadyClock* clock = TheSteadyClock(),
                       Resident resident = &ResidentBytes)
      : bytes_(bytes), clock_(*clock), resident_(std::move(resident)) {}

  int64_t bytes() const { return bytes_; }
  // Whether the process takes more than nine tenths of the limit; it looks at most once in kLook.
  // Before it says so, it gives freed memory back to the kernel, at most once in kGiveBack.
  bool IsNear();

  static constexpr absl::Duration kLook = absl::Milliseconds(20);
  static constexpr absl::Duration kGiveBack = absl::Seconds(1);  // it takes milliseconds

 private:
  bool Look(absl::Duration now);

  const int64_t bytes_;
  const SteadyClock& clock_;
  const Resident resident_;
  std::atomic<bool> near_ = false;
  std::atomic<int64_t> next_look_ = 0;  // of the clock, in nanoseconds
  std::atomic<bool> looking_ = false;
  absl::Duration next_give_back_ = -absl::InfiniteDuration();  // whoever looks
};

}  // namespace muster
