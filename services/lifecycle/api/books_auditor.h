#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/shared_runs.h"
#include "services/common/stopper.h"
#include "services/lifecycle/core/books_memory.h"
#include "services/lifecycle/peers/peer_books.h"

namespace muster::lifecycle {

// Holds the books of the four services against each other when asked, on any replica; reads only.
// Runs one audit at a time, on a thread of its own, for all who have asked by then. Thread-safe.
class BooksAuditor {
 public:
  struct Report {
    std::vector<BooksLine> lines = {};
    std::vector<Difference> differences = {};  // that stood in both snapshots
    int64_t passing = 0;                       // differences that did not
    int64_t orphans = 0;                       // uids without a pool
    bool withheld = false;                     // some are kept for a person: see OrphanPolicy
  };
  using Runs = SharedRuns<absl::Duration, absl::StatusOr<Report>>;
  using Asker = Runs::Asker;

  // `lane` must outlive it. `cpu`: SharedRuns.
  BooksAuditor(Lane* lane, const OrphanPolicy& policy, std::shared_ptr<CpuShare> cpu = {})
      : lane_(*lane), policy_(policy), cpu_(std::move(cpu)) {}
  ~BooksAuditor() { Stop(); }

  void Start(const Peers& peers);
  // Answers UNAVAILABLE to all that wait. Idempotent.
  void Stop();

  // If a first snapshot shows differences, a second one is taken after `settle`, unless that is 0.
  // The asker is told once, from any thread, perhaps before this returns, unless it has gone.
  // UNAVAILABLE: a service is away, this one is stopping or does not know the others yet, or too
  // many wait.
  void Audit(absl::Duration settle, Asker asker);

 private:
  std::shared_ptr<Runs> runs();
  absl::StatusOr<Report> AuditNow(absl::Duration settle, absl::FunctionRef<bool()> abandoned);

  Lane& lane_;
  const OrphanPolicy policy_;
  const std::shared_ptr<CpuShare> cpu_;
  std::unique_ptr<PeerBooks> peers_;
  Stopper stopper_;
  Mutex mutex_;
  std::shared_ptr<Runs> runs_ MUSTER_GUARDED_BY(mutex_);  // null: not started
};

}  // namespace muster::lifecycle
