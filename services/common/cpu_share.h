#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"

namespace muster {

// What all slow work of a process takes of its processors: about one core over time, whatever the
// number of threads that do it. After its work each thread rests for as long as that took of
// processor time, times the number of the other threads that are at it, working or resting. So a
// thread that is alone takes half a core, and several share one in equal parts; what takes little
// never waits for the end of what takes long. Thread-safe.
class CpuShare {
 public:
  // Threads that are at it now.
  int64_t at_it() const { return at_it_; }

 private:
  friend class CpuStretch;
  std::atomic<int64_t> at_it_ = 0;
};

// One thread's work and the rest after it. For that thread alone.
//
//   CpuStretch stretch(share);
//   Work();
//   stretch.EndWork();
//   stretch.Rest(wait);
class CpuStretch {
 public:
  // Begins the work. `share` must outlive it; null: the thread is as one that is alone.
  explicit CpuStretch(CpuShare* share);
  ~CpuStretch();
  CpuStretch(const CpuStretch&) = delete;
  CpuStretch& operator=(const CpuStretch&) = delete;

  void EndWork();
  // The same, for work that took so much processor time.
  void EndWork(absl::Duration took) { owed_ = took; }
  // How long to wait next; zero: it has rested enough. Short, as others may begin or end meanwhile.
  absl::Duration NextPause();
  // Waits by `wait(pause)`, which may return early, until it has rested enough.
  void Rest(absl::FunctionRef<void(absl::Duration)> wait);

 private:
  int64_t others() const { return share_ == nullptr ? 0 : share_->at_it_ - 1; }

  CpuShare* const share_;
  const absl::Duration began_;  // the thread's processor time by then
  absl::Duration owed_ = absl::ZeroDuration();
};

}  // namespace muster
