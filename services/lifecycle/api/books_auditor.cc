#include "services/lifecycle/api/books_auditor.h"

#include <set>
#include <string>
#include <utility>

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
  const auto run = [this](Job& job) {
    absl::StatusOr<Report> report = AuditNow(job.settle);
    if (absl::IsCancelled(report.status())) report = error::Unavailable("Lifecycle is stopping.");
    job.done(report);
  };
  MutexLock lock(mutex_);
  jobs_ = std::make_shared<JobQueue<Job>>(1, run, kMaxWaiting);
}

std::shared_ptr<JobQueue<BooksAuditor::Job>> BooksAuditor::jobs() {
  MutexLock lock(mutex_);
  return jobs_;
}

void BooksAuditor::Stop() {
  stopper_.Stop();
  const auto jobs = this->jobs();
  if (jobs == nullptr) return;
  peers_->Cancel();
  for (const Job& job : jobs->Stop()) job.done(error::Unavailable("Lifecycle is stopping."));
}

void BooksAuditor::Audit(absl::Duration settle, Done done) {
  Job job{settle, std::move(done)};
  const auto jobs = this->jobs();
  if (jobs == nullptr || !jobs->Add(std::move(job)))
    job.done(error::Unavailable("Lifecycle cannot audit the books now."));
}

absl::StatusOr<BooksAuditor::Report> BooksAuditor::AuditNow(absl::Duration settle) {
  BooksMemory memory;
  ASSIGN_OR_RETURN(Books books, peers_->Read());
  memory.Note(books, absl::ZeroDuration());
  if (settle > absl::ZeroDuration() && !memory.Stood(absl::ZeroDuration()).empty()) {
    if (!stopper_.Sleep(settle)) return absl::CancelledError("It is to stop.");
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

}  // namespace muster::lifecycle
