#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "storage/postgres/batch.h"
#include "storage/postgres/batch_outcome.h"
#include "storage/postgres/commit_queue.h"
#include "storage/postgres/history.h"
#include "storage/postgres/journal.h"
#include "storage/postgres/journal_follower.h"
#include "storage/postgres/lane_context.h"

namespace muster::storage {

// Commits commands with the head locked, and waits until that is done:
//
//   lock head ► catch up ► decide ► store, commit ► publish ► answer
//
// which is two round trips, and goes through whatever other replicas write. Nothing else may be
// staged meanwhile. Belongs to the lane's thread; has no lock.
template <class State>
class LockedCommitter {
 public:
  LockedCommitter(const LaneContext<State>& lane, JournalFollower<State>& follower,
                  BatchOutcome<State>& outcome)
      : options_(lane.options),
        store_(lane.store),
        clock_(lane.clock),
        db_(lane.db),
        memory_(lane.memory),
        at_(lane.memory.at()),
        follower_(follower),
        outcome_(outcome) {}

  // Commits `commands`, in several transactions if they are too much for one. If the tables refuse
  // a transaction, each half of its commands is tried by itself, unless a table is missing. All are
  // answered. UNAVAILABLE: the database is away.
  absl::Status Commit(absl::Span<LaneCommand<State>> commands);
  // The same for commands that the tables refused together: begins with their halves.
  absl::Status CommitHalves(absl::Span<LaneCommand<State>> commands);
  // Whether others wrote so recently that the next batches had better go this way.
  bool OthersWrite() const { return locking_batches_ > 0; }

 private:
  // How often a batch is put off because others commit faster than memory follows.
  static constexpr int kMaxFollows = 5;
  // How many batches lock the head after others wrote: a failed try without the lock costs more
  // than it would have saved.
  static constexpr int kLockingBatches = 16;

  // What a status is about.
  struct About {
    size_t commands = 0;       // so many, from the first on
    bool is_decision = false;  // what they decided: else none of them is to blame
  };
  absl::Status CommitSome(absl::Span<LaneCommand<State>> commands, int64_t& shown, About& about);
  // A try of that.
  struct Attempt {
    std::unique_ptr<Batch<State>> batch = {};
    int64_t first_revision = 0;
    std::string id = {};
    bool behind = false;        // memory is to be brought level first, without the head's lock
    bool others_wrote = false;  // since the last batch
  };
  absl::Status Try(absl::Span<LaneCommand<State>> commands, int64_t& shown, Attempt& attempt);
  // The transaction's body, which may run several times.
  absl::Status DecideAndStore(Transaction& tx, absl::Span<LaneCommand<State>> commands,
                              Attempt& attempt);
  // Locks the head and brings memory level with it. Unless OK, nothing may be decided.
  absl::StatusOr<absl::Time> Lock(Transaction& tx, Attempt& attempt);

  const LaneOptions& options_;
  const Store<State>& store_;
  LaneClock& clock_;
  LaneDb& db_;
  StateCell<State>& memory_;
  Position& at_;  // of its working copy
  JournalFollower<State>& follower_;
  BatchOutcome<State>& outcome_;
  int locking_batches_ = 0;  // to come
};

template <class State>
absl::Status LockedCommitter<State>::Commit(absl::Span<LaneCommand<State>> commands) {
  absl::Status status;
  while (!commands.empty()) {
    int64_t shown = 0;
    About about = {commands.size()};
    const absl::Time began = absl::Now();
    status = CommitSome(commands, shown, about);
    const auto answered = commands.subspan(0, about.commands);
    if (MayBeOfAPart(status) && about.is_decision && answered.size() > 1) {
      status = CommitHalves(answered);
    } else {
      outcome_.RecordWork(answered, began, status);
      outcome_.Answer(answered, status, shown);
    }
    commands = commands.subspan(about.commands);
    if (absl::IsUnavailable(status)) break;
  }
  if (!commands.empty()) outcome_.Answer(commands, status, 0);
  return absl::IsUnavailable(status) ? status : absl::OkStatus();
}

template <class State>
absl::Status LockedCommitter<State>::CommitHalves(absl::Span<LaneCommand<State>> commands) {
  const size_t half = commands.size() / 2;
  const absl::Status status = Commit(commands.subspan(0, half));
  if (status.ok()) return Commit(commands.subspan(half));
  outcome_.Answer(commands.subspan(half), status, 0);
  return status;
}

template <class State>
absl::Status LockedCommitter<State>::CommitSome(absl::Span<LaneCommand<State>> commands,
                                                int64_t& shown, About& about) {
  for (int follows = 0; follows < kMaxFollows; ++follows) {
    Attempt attempt;
    const absl::Status status = Try(commands, shown, attempt);
    if (attempt.others_wrote) locking_batches_ = kLockingBatches;
    if (!attempt.behind && !absl::IsFailedPrecondition(status)) {
      locking_batches_ = std::max(locking_batches_ - 1, 0);
      if (attempt.batch != nullptr) about = {attempt.batch->decided(), true};
      return status;
    }
    const int64_t replaced = follower_.history_replaced();
    RETURN_IF_ERROR(follower_.Follow());
    if (follower_.history_replaced() != replaced) return HistoryLost();
  }
  db_.DropReaders();
  return error::Unavailable("Memory cannot follow the journal.");
}

template <class State>
absl::Status LockedCommitter<State>::Try(absl::Span<LaneCommand<State>> commands, int64_t& shown,
                                         Attempt& attempt) {
  const absl::Status status =
      db_.Write([&](Transaction& tx) { return DecideAndStore(tx, commands, attempt); },
                &attempt.first_revision, &attempt.id);
  if (!status.ok()) {
    if (attempt.batch != nullptr) attempt.batch->TakeBack();
    return status;
  }
  outcome_.Publish(*attempt.batch);
  shown = at_.revision;
  return status;
}

template <class State>
absl::Status LockedCommitter<State>::DecideAndStore(Transaction& tx,
                                                    absl::Span<LaneCommand<State>> commands,
                                                    Attempt& attempt) {
  if (attempt.batch != nullptr) attempt.batch->TakeBack();
  attempt.batch = nullptr;
  ASSIGN_OR_RETURN(const absl::Time now, Lock(tx, attempt));
  attempt.batch = std::make_unique<Batch<State>>(memory_.working(), at_, now);
  attempt.first_revision = attempt.batch->first_revision();
  attempt.id = attempt.batch->id();
  for (LaneCommand<State>& command : commands) {
    if (attempt.batch->Full(options_)) break;
    attempt.batch->Decide(command);
  }
  if (attempt.batch->changes().empty()) {
    journal::ChangesNothing(tx);
    return absl::OkStatus();
  }
  return attempt.batch->Store(tx, store_, options_);
}

template <class State>
absl::StatusOr<absl::Time> LockedCommitter<State>::Lock(Transaction& tx, Attempt& attempt) {
  const Head head = journal::Lock(tx, at_.revision);
  attempt.others_wrote = Position::Of(head) != at_;
  attempt.behind =
      !Judge(at_, head).continues() || head.revision - at_.revision > options_.catch_up_chunk;
  if (attempt.behind) return absl::CancelledError("Memory is not level with the journal.");
  RETURN_IF_ERROR(follower_.CatchUp(tx, head));
  return clock_.Take(head);
}

}  // namespace muster::storage
