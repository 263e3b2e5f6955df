#include "services/lifecycle/books_auditor.h"

#include <set>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"

namespace muster::lifecycle {
namespace {

// Each costs a list of everything in four services.
constexpr size_t kMaxWaiting = 8;

bool IsOrphan(DifferenceKind kind) {
  return kind == DifferenceKind::kOrphanHolding || kind == DifferenceKind::kOrphanClaim ||
         kind == DifferenceKind::kOrphanConfiguration;
}

// Uids that anybody but lifecycle knows.
int64_t UidsOf(const Books& books) {
  std::set<absl::string_view> uids;
  for (const HoldingEntry& holding : books.holdings) uids.insert(holding.pool_uid);
  for (const ClaimEntry& claim : books.claims) uids.insert(claim.pool_uid);
  for (const ConfigurationEntry& entry : books.configurations) uids.insert(entry.pool_uid);
  return static_cast<int64_t>(uids.size());
}

}  // namespace

void BooksAuditor::Start(const Peers& peers) {
  peers_ = std::make_unique<PeerBooks>(peers, &lane_);
  MutexLock lock(mutex_);
  running_ = true;
  thread_ = std::thread([this] { Run(); });
}

void BooksAuditor::Stop() {
  std::deque<Job> left;
  {
    MutexLock lock(mutex_);
    running_ = false;
    left.swap(jobs_);
    wakes_.SignalAll();
  }
  if (peers_ != nullptr) peers_->Cancel();
  if (thread_.joinable()) thread_.join();
  for (const Job& job : left) job.done(error::Unavailable("Lifecycle is stopping."));
}

void BooksAuditor::Audit(absl::Duration settle, Done done) {
  {
    MutexLock lock(mutex_);
    if (running_ && jobs_.size() < kMaxWaiting) {
      jobs_.push_back({settle, std::move(done)});
      wakes_.SignalAll();
      return;
    }
  }
  done(error::Unavailable("Lifecycle cannot audit the books now."));
}

void BooksAuditor::Run() {
  while (true) {
    Job job;
    {
      MutexLock lock(mutex_);
      while (running_ && jobs_.empty()) wakes_.Wait(mutex_);
      if (!running_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    absl::StatusOr<Report> report = AuditNow(job.settle);
    if (absl::IsCancelled(report.status())) report = error::Unavailable("Lifecycle is stopping.");
    job.done(report);
  }
}

absl::StatusOr<BooksAuditor::Report> BooksAuditor::AuditNow(absl::Duration settle) {
  BooksMemory memory;
  ASSIGN_OR_RETURN(Books books, peers_->Read());
  memory.Note(books, absl::ZeroDuration());
  if (settle > absl::ZeroDuration() && !memory.Stood(absl::ZeroDuration()).empty()) {
    if (!Pause(settle)) return absl::CancelledError("It is to stop.");
    ASSIGN_OR_RETURN(books, peers_->Read());
    memory.Note(books, settle);
  }
  Report report;
  report.lines = SideBySide(books);
  std::set<std::string> orphans;
  for (const auto& seen : memory.Stood(absl::ZeroDuration())) {
    if (IsOrphan(seen.difference.kind)) orphans.insert(seen.difference.pool_uid);
    ++report.passing;
  }
  for (auto& stood : memory.Stood(settle))
    report.differences.push_back(std::move(stood.difference));
  report.passing -= static_cast<int64_t>(report.differences.size());
  report.orphans = static_cast<int64_t>(orphans.size());
  report.mass = OrphanMemory::IsMass(report.orphans, UidsOf(books), policy_);
  return report;
}

bool BooksAuditor::Pause(absl::Duration settle) {
  const absl::Time until = absl::Now() + settle;
  MutexLock lock(mutex_);
  while (running_ && absl::Now() < until) wakes_.WaitFor(mutex_, until - absl::Now());
  return running_;
}

}  // namespace muster::lifecycle
