#include "services/kubernetes/reporter.h"

#include <algorithm>
#include <utility>

#include "services/common/backoff.h"
#include "services/common/log.h"
#include "services/common/report_limits.h"

namespace muster::kubernetes {
namespace {

// What is seen at the same time travels together.
constexpr absl::Duration kGather = absl::Milliseconds(5);
constexpr absl::Duration kFirstRetry = absl::Milliseconds(100);
constexpr absl::Duration kLongestRetry = absl::Seconds(15);

using lifecycle::v1::NodeReport;

// Moves what tells of work to the end; returns where that begins.
std::vector<NodeReport>::iterator WorkIn(std::vector<NodeReport>& reports) {
  return std::stable_partition(reports.begin(), reports.end(), [](const NodeReport& report) {
    return report.observation() != NodeReport::OBSERVATION_ACTIVE;
  });
}

}  // namespace

Reporter::Reporter(MusterClient* client, Listener look_again, const SteadyClock* clock)
    : client_(*client), look_again_(std::move(look_again)), clock_(*clock) {}

Reporter::~Reporter() { Stop(); }

void Reporter::Report(const std::string& machine, std::vector<lifecycle::v1::NodeReport> reports,
                      bool keeps_work) {
  MutexLock lock(mutex_);
  const auto waiting = entries_.find(machine);
  if (keeps_work && waiting != entries_.end() && !waiting->second.sent)
    reports.insert(reports.begin(), WorkIn(waiting->second.reports), waiting->second.reports.end());
  if (reports.empty()) return Withdraw(machine);
  Entry& entry = entries_[machine];
  if (entry.sent) {
    entry.offered_again = true;
    return;
  }
  if (entry.reports.empty()) waiting_.push_back(machine);
  entry.reports = std::move(reports);
  changed_.Signal();
}

void Reporter::Forget(const std::string& machine) {
  MutexLock lock(mutex_);
  refusals_.erase(machine);
  Withdraw(machine);
}

void Reporter::Withdraw(const std::string& machine) {
  const auto found = entries_.find(machine);
  if (found == entries_.end() || found->second.sent) return;
  entries_.erase(found);
  waiting_.erase(std::find(waiting_.begin(), waiting_.end(), machine));
}

absl::StatusOr<std::vector<absl::StatusCode>> Reporter::ReportNow(
    const std::vector<lifecycle::v1::NodeReport>& reports) {
  return client_.ReportNodes(reports);
}

void Reporter::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Reporter::Stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    changed_.SignalAll();
  }
  if (thread_.joinable()) thread_.join();
}

Reporter::Batch Reporter::TakeBatch() {
  Batch batch;
  size_t taken = 0;
  for (; taken < waiting_.size(); ++taken) {
    Entry& entry = entries_[waiting_[taken]];
    if (batch.reports.size() + entry.reports.size() > kMaxReportsACall && taken > 0) break;
    batch.machines.emplace_back(waiting_[taken], entry.reports.size());
    std::move(entry.reports.begin(), entry.reports.end(), std::back_inserter(batch.reports));
    entry.reports.clear();
    entry.sent = true;
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(taken));
  return batch;
}

void Reporter::Run() {
  while (true) {
    Batch batch;
    {
      MutexLock lock(mutex_);
      while (waiting_.empty() && !stopped_) changed_.Wait(mutex_);
      if (!stopped_) changed_.WaitFor(mutex_, kGather);
      if (stopped_) return;
      batch = TakeBatch();
    }
    Send(batch);
  }
}

void Reporter::Send(const Batch& batch) {
  const auto codes = client_.ReportNodes(batch.reports);
  if (!codes.ok() && !absl::IsCancelled(codes.status())) {
    if (const auto others = unsent_.Tell(clock_.Now())) {
      log::Warn("reports did not arrive", {{"reports", batch.reports.size()},
                                           {"error", codes.status()},
                                           {"others_not_told", *others}});
    }
  }
  size_t at = 0;
  for (const auto& [machine, count] : batch.machines) {
    bool refused = !codes.ok();
    for (size_t i = 0; i < count && codes.ok(); ++i)
      refused |= (*codes)[at++] != absl::StatusCode::kOk;
    Acknowledge(machine, refused);
  }
}

void Reporter::Acknowledge(const std::string& machine, bool refused) {
  bool again = false;
  absl::Duration pause = absl::ZeroDuration();
  {
    MutexLock lock(mutex_);
    again = entries_[machine].offered_again || refused;
    entries_.erase(machine);
    if (refused) {
      pause = PauseAfter(++refusals_[machine], kFirstRetry, kLongestRetry);
    } else {
      refusals_.erase(machine);
    }
  }
  if (again) look_again_(machine, pause);
}

}  // namespace muster::kubernetes
