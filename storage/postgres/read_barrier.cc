#include "storage/postgres/read_barrier.h"

#include <iterator>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "services/common/current_caller.h"
#include "services/common/deadline.h"
#include "services/common/error.h"
#include "storage/postgres/history.h"
#include "storage/postgres/read_pacer.h"

namespace muster::storage {
namespace {

// Answers `reads` with the error `status`.
template <class Reads>
void FailAll(Reads reads, const absl::Status& status) {
  for (auto& read : reads) read.done(status);
}

}  // namespace

ReadBarrier::ReadBarrier(const LaneOptions& options, LaneDb& db, const ServedPosition& memory,
                         std::function<void()> poke)
    : options_(options), db_(db), memory_(memory), poke_(std::move(poke)) {}

void ReadBarrier::Start() {
  thread_ = std::thread([this] { Run(); });
}

void ReadBarrier::Read(Done done, absl::Time deadline) {
  {
    MutexLock lock(mutex_);
    if (!intake_over_) {
      new_reads_.Push(CurrentCaller::Number(), {std::move(done), deadline});
      if (new_reads_.size() == 1) wakes_.Signal();
      return;
    }
  }
  done(error::Unavailable("The server stops."));
}

void ReadBarrier::Wake() {
  MutexLock lock(mutex_);
  moved_ = true;
  // Nearly never does a read wait for it, and a thread that is woken by each commit for nothing
  // costs as much as the commit.
  if (awaits_memory_) wakes_.Signal();
}

void ReadBarrier::FailUnasked(const absl::Status& status) {
  std::vector<PendingRead> reads;
  {
    MutexLock lock(mutex_);
    reads = new_reads_.TakeAll();
  }
  FailAll(std::move(reads), status);
}

void ReadBarrier::CloseIntake() {
  MutexLock lock(mutex_);
  intake_over_ = true;
  wakes_.SignalAll();
}

void ReadBarrier::Stop() {
  MutexLock lock(mutex_);
  stopping_ = true;
  wakes_.SignalAll();
}

void ReadBarrier::Join() {
  if (thread_.joinable()) thread_.join();
}

void ReadBarrier::Run() {
  std::vector<PendingRead> unasked;
  // Reads whose revision memory has not reached yet. Rare: only another replica can be ahead of us.
  std::vector<PendingRead> waiting;
  ReadPacer pacer;
  while (true) {
    std::this_thread::sleep_for(pacer.Pause());
    if (!Await(unasked, unasked.empty() && waiting.empty())) break;
    if (!unasked.empty()) {
      pacer.Asking(unasked.size());
      AskHead(unasked, waiting);
    }
    AnswerReads(unasked, waiting);
    if (!waiting.empty()) options_.Yield(LanePoint::kReadsKept);
  }
  for (auto* reads : {&unasked, &waiting})
    FailAll(std::move(*reads), error::Unavailable("The server stops."));
}

bool ReadBarrier::Await(std::vector<PendingRead>& unasked, bool none_waits) {
  MutexLock lock(mutex_);
  if (new_reads_.empty() && !stopping_) {
    if (none_waits) {
      wakes_.Wait(mutex_);
    } else if (!moved_) {
      awaits_memory_ = true;
      wakes_.WaitFor(mutex_, options_.read_poll);
      awaits_memory_ = false;
    }
  }
  moved_ = false;
  // A thread that ends answers all reads that are left.
  std::vector<PendingRead> taken =
      stopping_ ? new_reads_.TakeAll() : new_reads_.Take(options_.max_reads);
  std::move(taken.begin(), taken.end(), std::back_inserter(unasked));
  return !stopping_;
}

void ReadBarrier::AskHead(std::vector<PendingRead>& unasked, std::vector<PendingRead>& waiting) {
  // What memory knows before the head is asked, the head knows too, or it was lost.
  const Position known = memory_.served_at();
  options_.Yield(LanePoint::kBeforeBarrier);
  // Whom the question had no room for.
  size_t behind = 0;
  if (unasked.size() >= options_.max_reads) {
    MutexLock lock(mutex_);
    behind = new_reads_.size();
  }
  const absl::StatusOr<Head> head = db_.ReadHead(known.revision);
  options_.Yield(LanePoint::kAfterBarrier);
  if (!head.ok()) {
    FailAll(std::exchange(unasked, {}), head.status());
    // Each further question might take as long.
    std::vector<PendingRead> failed;
    {
      MutexLock lock(mutex_);
      failed = new_reads_.Take(behind);
    }
    return FailAll(std::move(failed), head.status());
  }
  if (Judge(known, *head).replaced()) return poke_();
  for (PendingRead& read : unasked) {
    read.incarnation = head->incarnation;
    read.revision = head->revision;
    waiting.push_back(std::move(read));
  }
  unasked.clear();
  if (head->revision > memory_.served_revision()) poke_();
}

void ReadBarrier::AnswerReads(std::vector<PendingRead>& unasked,
                              std::vector<PendingRead>& waiting) {
  const bool away = !db_.ready() || intake_over_;
  const absl::Time now = NowForDeadlines();
  std::vector<PendingRead> again;
  std::vector<PendingRead> still;
  const auto keep = [&](PendingRead& read, std::vector<PendingRead>& to) {
    if (now <= read.deadline && !away) return to.push_back(std::move(read));
    read.done(error::Unavailable("Memory has not caught up with the journal."));
  };
  for (PendingRead& read : unasked) keep(read, again);
  for (PendingRead& read : waiting) {
    ReaderLock lock(memory_.served_mutex(), ReaderLock::kInTurn);
    if (read.incarnation != memory_.held_at().incarnation) {
      keep(read, again);
    } else if (read.revision <= memory_.held_at().revision) {
      read.done(absl::OkStatus());
    } else {
      keep(read, still);
    }
  }
  unasked = std::move(again);
  waiting = std::move(still);
}

absl::Status ReadNow(ReadBarrier& reads, absl::Time deadline, absl::FunctionRef<void()> show) {
  struct Waiting {
    Mutex mutex;
    CondVar over;
    std::optional<absl::Status> status MUSTER_GUARDED_BY(mutex);
  };
  Waiting waiting;
  reads.Read(
      [&](const absl::Status& status) {
        if (status.ok()) show();
        MutexLock lock(waiting.mutex);
        waiting.status = status;
        waiting.over.Signal();
      },
      deadline);
  MutexLock lock(waiting.mutex);
  while (!waiting.status.has_value()) waiting.over.Wait(waiting.mutex);
  return *waiting.status;
}

}  // namespace muster::storage
