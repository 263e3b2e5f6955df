#include "services/kubernetes/controller.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/log.h"
#include "services/common/steady_clock.h"
#include "services/kubernetes/api/client.h"
#include "services/trace/span.h"

namespace muster::kubernetes {
namespace {

// What goes away by itself: a peer that is out of reach, a race that was lost, our own end. The
// watches tell of peers that are away, once and not for every key.
bool IsPassing(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status) || absl::IsCancelled(status) ||
         absl::IsDeadlineExceeded(status) || absl::IsResourceExhausted(status);
}

}  // namespace

Controller::Controller(std::string name, int workers, Reconcile reconcile, Metrics* metrics,
                       WorkQueue::Options options)
    : name_(std::move(name)),
      workers_(workers),
      reconcile_(std::move(reconcile)),
      metrics_(*metrics),
      queue_(options) {
  metrics_.Add(name_, workers_, &queue_);
}

Controller::~Controller() { Stop(); }

void Controller::Start() {
  for (int i = 0; i < workers_; ++i) threads_.emplace_back([this] { Work(); });
}

void Controller::Stop() {
  queue_.Stop();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Controller::Work() {
  while (const auto item = queue_.Take()) {
    const absl::Duration begin = TheSteadyClock()->Now();
    trace::Work work(absl::StrCat("reconcile ", name_));
    work.Add("muster.key", item->key);
    const Outcome outcome = reconcile_(item->key);
    if (!outcome.status.ok()) work.Fail(outcome.status.message());
    const Result result = !outcome.status.ok()                       ? Result::kError
                          : outcome.again < absl::InfiniteDuration() ? Result::kRequeueAfter
                                                                     : Result::kSuccess;
    metrics_.Reconciled(name_, result, item->waited, TheSteadyClock()->Now() - begin);
    Finish(item->key, outcome);
    queue_.Done(item->key);
  }
}

void Controller::Finish(const std::string& key, const Outcome& outcome) {
  if (outcome.status.ok()) queue_.Forget(key);
  // Of this and the retry the sooner counts.
  if (outcome.again < absl::InfiniteDuration()) queue_.AddAfter(key, outcome.again);
  if (outcome.status.ok()) return;
  TellFailure(key, outcome.status, queue_.Retry(key, ErrorOf(outcome.status).retry_after));
}

void Controller::TellFailure(const std::string& key, const absl::Status& status, int failures) {
  std::optional<int64_t> others;
  {
    MutexLock lock(mutex_);
    others = persistent_failures_.Tell(failures, absl::Now());
  }
  if (others) {
    return log::Warn("reconciliation fails again and again", {{"controller", name_},
                                                              {"key", key},
                                                              {"error", status},
                                                              {"failures", failures},
                                                              {"others_not_told", *others}});
  }
  const bool quiet = IsPassing(status) || failures > kPersistentFailures;
  log::Write(quiet ? log::Level::kDebug : log::Level::kWarn, "reconciliation failed",
             {{"controller", name_}, {"key", key}, {"error", status}});
}

}  // namespace muster::kubernetes
