#include "services/rpc/client/watch.h"

namespace muster::rpc {

Watch::Watch(Options options) : options_(std::move(options)) {}

Watch::~Watch() { Stop(); }

void Watch::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Watch::Restart() {
  restart_ = true;
  calls_.Cancel();
}

void Watch::Stop() {
  stopper_.Stop();
  calls_.Stop();
  if (thread_.joinable()) thread_.join();
}

void Watch::Run() {
  ResumePoint point;
  Backoff backoff(options_.first_retry, options_.last_retry);
  do {
    // Before the question whether to restart: who asks for it from now on cancels this.
    Calls::Context context(calls_);
    if (restart_.exchange(false) || !options_.resumes) point.Forget();
    options_.begins(point.empty());
    int64_t messages = 0;
    const absl::Status status = options_.stream(*context, point, messages);
    if (stopper_.stopped()) return;
    if (messages > 0) backoff.Reset();
    if (absl::IsOutOfRange(status)) point.Forget();
    options_.ended(status);
  } while (stopper_.Sleep(backoff.Next()));
}

}  // namespace muster::rpc
