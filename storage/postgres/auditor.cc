#include "storage/postgres/auditor.h"

#include <utility>

#include "services/common/cause.h"
#include "services/common/deadline.h"
#include "services/common/error.h"
#include "services/common/log.h"

namespace muster::storage {

Auditor::Auditor(Options options) : options_(std::move(options)), thread_([this] { Loop(); }) {}

void Auditor::Run(Done done) {
  {
    MutexLock lock(mutex_);
    if (!stopping_) {
      asked_.push_back(std::move(done));
      wakes_.Signal();
      return;
    }
  }
  done(error::Unavailable("The server stops."));
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
  while (true) {
    std::vector<Done> asked;
    bool stop = false;
    {
      MutexLock lock(mutex_);
      if (asked_.empty() && !stopping_) wakes_.WaitFor(mutex_, options_.interval);
      stop = stopping_;
      asked.swap(asked_);
    }
    CpuStretch stretch(options_.cpu.get());
    const absl::StatusOr<AuditReport> report =
        stop ? error::Unavailable("The server stops.") : RunOne();
    for (Done& done : asked) done(report);
    if (stop) return;
    stretch.EndWork();
    if (options_.cpu != nullptr) Rest(stretch);
  }
}

void Auditor::Rest(CpuStretch& stretch) {
  absl::Duration pause;
  while ((pause = stretch.NextPause()) > absl::ZeroDuration()) {
    const Deadline end(pause);
    MutexLock lock(mutex_);
    while (!stopping_ && end.WaitFor(wakes_, mutex_)) {
    }
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
