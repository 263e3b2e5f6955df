#include "services/lifecycle/api/books_auditor.h"

#include <set>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"

namespace muster::lifecycle {
namespace {

constexpr size_t kMaxWaiting = 64;

// How many uids quota, capacity or configuration know.
int64_t UidsOf(const Books& books) {
  std::set<absl::string_view> uids;
  for (const HoldingEntry& holding : books.holdings) uids.insert(holding.pool_uid);
  for (const ClaimEntry& claim : books.claims) uids.insert(claim.pool_uid);
  for (const ConfigurationEntry& entry : books.configurations) uids.insert(entry.pool_uid);
  return static_cast<int64_t>(uids.size());
}

absl::Status Stopping() { return error::Unavailable("Lifecycle is stopping."); }

}  // namespace

void BooksAuditor::Start(const Peers& peers) {
  peers_ = std::make_unique<PeerBooks>(peers, &lane_);
  const auto run = [this](absl::Duration settle, absl::FunctionRef<bool()> abandoned) {
    absl::StatusOr<Report> report = AuditNow(settle, abandoned);
    if (absl::IsCancelled(report.status())) report = Stopping();
    return report;
  };
  MutexLock lock(mutex_);
  runs_ = std::make_shared<Runs>(run, kMaxWaiting, cpu_);
}

std::shared_ptr<BooksAuditor::Runs> BooksAuditor::runs() {
  MutexLock lock(mutex_);
  return runs_;
}

void BooksAuditor::Stop() {
  stopper_.Stop();
  const auto runs = this->runs();
  if (runs == nullptr) return;
  peers_->Cancel();
  for (Asker& asker : runs->Stop()) asker.done(Stopping());
}

void BooksAuditor::Audit(absl::Duration settle, Asker asker) {
  const auto runs = this->runs();
  if (runs == nullptr || !runs->Ask(settle, std::move(asker)))
    // NOLINTNEXTLINE(bugprone-use-after-move): Ask left it as it was.
    asker.done(error::Unavailable("Lifecycle cannot audit the books now."));
}

absl::StatusOr<BooksAuditor::Report> BooksAuditor::AuditNow(absl::Duration settle,
                                                            absl::FunctionRef<bool()> abandoned) {
  BooksMemory memory;
  ASSIGN_OR_RETURN(Books books, peers_->Read());
  memory.Note(books, absl::ZeroDuration());
  if (settle > absl::ZeroDuration() && !memory.Stood(absl::ZeroDuration()).empty()) {
    if (abandoned() || !stopper_.Sleep(settle) || abandoned())
      return absl::CancelledError("It is to stop, or nobody waits for it any more.");
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
  report.withheld = OrphanMemory::IsMass(report.orphans, UidsOf(books), policy_);
  for (const std::string& uid : OrphanMemory::OfThePast(books, policy_))
    report.withheld |= orphans.contains(uid);
  return report;
}

}  // namespace muster::lifecycle
