#include "services/common/cpu_share.h"

#include <time.h>

namespace muster {
namespace {

constexpr absl::Duration kPauseFor = absl::Milliseconds(10);

// The processor time of this thread so far.
absl::Duration ThreadCpuTime() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return absl::DurationFromTimespec(now);
}

}  // namespace

CpuStretch::CpuStretch(CpuShare* share) : share_(share), began_(ThreadCpuTime()) {
  if (share_ != nullptr) ++share_->at_it_;
}

CpuStretch::~CpuStretch() {
  if (share_ != nullptr) --share_->at_it_;
}

void CpuStretch::EndWork() { EndWork(ThreadCpuTime() - began_); }

absl::Duration CpuStretch::NextPause() {
  const absl::Duration part = std::min(owed_, kPauseFor);
  owed_ -= part;
  return part * std::max<int64_t>(1, others());
}

void CpuStretch::Rest(absl::FunctionRef<void(absl::Duration)> wait) {
  absl::Duration pause;
  while ((pause = NextPause()) > absl::ZeroDuration()) wait(pause);
}

}  // namespace muster
