#include "services/kubernetes/muster_watch.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "services/common/log.h"

namespace muster::kubernetes {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(100);
constexpr absl::Duration kLongestPause = absl::Seconds(5);

}  // namespace

MusterWatch::MusterWatch(MusterClient* client, MusterView* view) : client_(*client), view_(*view) {}

MusterWatch::~MusterWatch() { Stop(); }

void MusterWatch::Start() {
  thread_ = std::thread([this] { Run(); });
}

void MusterWatch::Stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    changed_.SignalAll();
  }
  if (thread_.joinable()) thread_.join();
}

bool MusterWatch::Pause(absl::Duration& pause) {
  MutexLock lock(mutex_);
  const absl::Time end = absl::Now() + pause * absl::Uniform(random_, 0.5, 1.0);
  for (absl::Time now = absl::Now(); !stopped_ && now < end; now = absl::Now())
    changed_.WaitFor(mutex_, end - now);
  pause = std::min(2 * pause, kLongestPause);
  return !stopped_;
}

void MusterWatch::Run() {
  absl::Duration pause = kFirstPause;
  while (true) {
    absl::Status status;
    if (WatchOnce(status) > 0) pause = kFirstPause;
    if (absl::IsOutOfRange(status)) resume_.Forget();
    if (!absl::IsCancelled(status)) log::Warn("the watch of Muster ended", {{"error", status}});
    if (!Pause(pause)) return;
  }
}

int64_t MusterWatch::WatchOnce(absl::Status& status) {
  if (resume_.empty()) view_.BeginSnapshot();
  int64_t received = 0;
  // The point moves while the stream runs.
  const rpc::ResumePoint from = resume_;
  status = client_.Watch(from, [&](const lifecycle::v1::WatchLifecycleResponse& message) {
    view_.Take(message, absl::Now());
    received += 1 + message.bundle_size();
    resume_.Take(message);
  });
  return received;
}

}  // namespace muster::kubernetes
