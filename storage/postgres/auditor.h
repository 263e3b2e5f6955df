#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/cpu_share.h"
#include "services/common/mutex.h"

namespace muster::storage {

// What one audit of a schema found.
struct AuditReport {
  int64_t revision = 0;                      // of the snapshot that was audited
  int64_t resources = 0;                     // in it
  std::vector<std::string> violations = {};  // a sentence each, at most kMaxViolations; empty: none
};
inline constexpr size_t kMaxViolations = 100;

// Audits a service in the background, and when asked, on a thread of its own. What it finds is
// counted and logged, and mended by nobody: it is a bug of ours, or somebody wrote to our tables.
class Auditor {
 public:
  using Audit = std::function<absl::StatusOr<AuditReport>()>;
  using Done = absl::AnyInvocable<void(const absl::StatusOr<AuditReport>&)>;
  struct Options {
    std::string service = {};  // for the log
    absl::Duration interval = absl::Minutes(5);
    Audit audit = {};  // may block
    // Of all slow work of the process; null: no rest between audits.
    std::shared_ptr<CpuShare> cpu = {};
  };
  struct Stats {
    int64_t audits = 0;      // that came to an end
    int64_t failed = 0;      // that could not be made, e.g. because the database was away
    int64_t violations = 0;  // found, counted again in every audit that finds them
  };

  explicit Auditor(Options options);
  ~Auditor() { Stop(); }

  // At most so many wait for an audit.
  static constexpr size_t kMostAsked = 64;

  // Audits after this call; `done` is called from the auditor's thread or that of another asker
  // (below), UNAVAILABLE after Stop. If too many wait, it is called at once: RESOURCE_EXHAUSTED
  // (TOO_MANY_CALLS). `gone()`, which must not block, says whether nobody waits any more: then
  // there need not be an audit, and `done` is called with CANCELLED. Null: somebody always waits.
  void Run(Done done, std::function<bool()> gone = {});
  // Ends the thread; an audit under way is waited for. Idempotent.
  void Stop();
  Stats stats() const { return {audits_, failed_, violations_}; }

 private:
  struct Asked {
    Done done;
    std::function<bool()> gone;
  };

  // Takes out those that nobody waits for any more.
  std::vector<Asked> TakeGone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Cancel(std::vector<Asked> gone);
  void Loop();
  absl::StatusOr<AuditReport> RunOne();
  void Wait(absl::Duration pause);

  const Options options_;
  std::atomic<int64_t> audits_ = 0;
  std::atomic<int64_t> failed_ = 0;
  std::atomic<int64_t> violations_ = 0;
  Mutex mutex_;
  CondVar wakes_;
  std::vector<Asked> asked_ MUSTER_GUARDED_BY(mutex_);
  bool stopping_ MUSTER_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace muster::storage
