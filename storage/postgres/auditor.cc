#include "storage/postgres/auditor.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/cause.h"
#include "services/common/deadline.h"
#include "services/common/error.h"
#include "services/common/log.h"

namespace muster::storage {
namespace {

absl::Status TooManyAsked() {
  return error::Make(absl::StatusCode::kResourceExhausted,
                     absl::StrCat(Auditor::kMostAsked, " wait for an audit, as many as may."),
                     {.reason = "TOO_MANY_CALLS", .retry_after = absl::Seconds(1)});
}

}  // namespace

Auditor::Auditor(Options options) : options_(std::move(options)), thread_([this] { Loop(); }) {}

void Auditor::Run(Done done, std::function<bool()> gone) {
  absl::Status refused;
  std::vector<Asked> given_up;
  {
    MutexLock lock(mutex_);
    if (asked_.size() >= kMostAsked) given_up = TakeGone();
    if (stopping_) {
      refused = error::Unavailable("The server stops.");
    } else if (asked_.size() >= kMostAsked) {
      refused = TooManyAsked();
    } else {
      asked_.push_back({std::exchange(done, nullptr), std::move(gone)});
      wakes_.Signal();
    }
  }
  Cancel(std::move(given_up));
  if (done != nullptr) done(refused);
}

std::vector<Auditor::Asked> Auditor::TakeGone() {
  const auto waits = [](const Asked& one) { return one.gone == nullptr || !one.gone(); };
  const auto first_gone = std::stable_partition(asked_.begin(), asked_.end(), waits);
  std::vector<Asked> gone(std::make_move_iterator(first_gone),
                          std::make_move_iterator(asked_.end()));
  asked_.erase(first_gone, asked_.end());
  return gone;
}

void Auditor::Cancel(std::vector<Asked> gone) {
  for (Asked& one : gone) one.done(absl::CancelledError("Its caller has gone."));
}

void Auditor::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    wakes_.Signal();
  }
  if (thread_.joinable()) thread_.join();
}

void Auditor::Loop() {
  std::optional<Deadline> due(options_.interval);
  while (true) {
    std::vector<Asked> asked;
    std::vector<Asked> gone;
    bool stop = false;
    {
      MutexLock lock(mutex_);
      while (asked_.empty() && !stopping_ && due->WaitFor(wakes_, mutex_)) {
      }
      stop = stopping_;
      gone = TakeGone();
      asked.swap(asked_);
    }
    const bool for_nobody = asked.empty() && !gone.empty();
    Cancel(std::move(gone));
    if (for_nobody && !stop) continue;
    CpuStretch stretch(options_.cpu.get());
    const absl::StatusOr<AuditReport> report =
        stop ? error::Unavailable("The server stops.") : RunOne();
    for (Asked& one : asked) one.done(report);
    if (stop) return;
    stretch.EndWork();
    if (options_.cpu != nullptr) stretch.Rest([this](absl::Duration pause) { Wait(pause); });
    due.emplace(options_.interval);
  }
}

void Auditor::Wait(absl::Duration pause) {
  const Deadline end(pause);
  MutexLock lock(mutex_);
  while (!stopping_ && end.WaitFor(wakes_, mutex_)) {
  }
}

absl::StatusOr<AuditReport> Auditor::RunOne() {
  absl::StatusOr<AuditReport> report = options_.audit();
  if (!report.ok()) {
    ++failed_;
    log::Info("audit not made",
              {{"service", options_.service}, {"error", error::ForOperators(report.status())}});
    return report;
  }
  ++audits_;
  violations_ += static_cast<int64_t>(report->violations.size());
  for (const std::string& violation : report->violations) {
    log::Error(
        "audit found a violation",
        {{"service", options_.service}, {"revision", report->revision}, {"violation", violation}});
  }
  return report;
}

}  // namespace muster::storage
