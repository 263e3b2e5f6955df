#include "services/rpc/refusal_pace.h"

#include <algorithm>

#include "services/rpc/limits.h"

namespace muster::rpc {
namespace {

// How many may be answered at once, as the time in which the average rate answers them.
constexpr absl::Duration kAnsweredAtOnce = absl::Seconds(1);

}  // namespace

absl::Duration RefusalPace::KeepBack(absl::string_view principal) {
  const absl::Duration now = clock_.Now();
  MutexLock lock(mutex_);
  Sweep(paces_, sweep_at_, [&](const auto& pace) { return pace.second.IsIdle(now); });
  Pace& pace = paces_[principal];
  const absl::Duration wait = std::min(pace.Wait(now, kAnsweredAtOnce), kMostKeptBack);
  // One that comes no later for those before it does not put off those behind it, either.
  if (wait < kMostKeptBack) pace.Add(absl::Seconds(1) / kRefusalsPerSecond, now);
  if (wait <= absl::ZeroDuration() || kept_back_ >= kMostRefusalsKeptBack)
    return absl::ZeroDuration();
  ++kept_back_;
  return wait;
}

void RefusalPace::Answered() {
  MutexLock lock(mutex_);
  --kept_back_;
}

int64_t RefusalPace::kept_back() const {
  MutexLock lock(mutex_);
  return kept_back_;
}

size_t RefusalPace::size() const {
  MutexLock lock(mutex_);
  return paces_.size();
}

}  // namespace muster::rpc
