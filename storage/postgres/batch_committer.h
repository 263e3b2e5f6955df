#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "services/common/deadline.h"
#include "services/common/state.h"
#include "services/common/status_macros.h"
#include "storage/postgres/answer_queue.h"
#include "storage/postgres/batch.h"
#include "storage/postgres/batch_outcome.h"
#include "storage/postgres/change_publisher.h"
#include "storage/postgres/commit_queue.h"
#include "storage/postgres/journal_follower.h"
#include "storage/postgres/lane_context.h"
#include "storage/postgres/locked_committer.h"

namespace muster::storage {

// Decides and commits batches of commands, each batch in one transaction, as a pipeline of two:
// while one batch is on its way to the database and back, the next is decided on top of it.
//
//   taken ──► open ──────────────────────────────────────────► sent ─────────────► finished
//             decided on what is sent, as long as that is out;  moves the head      published, answered
//             encoded meanwhile, if it is large
//
// An open batch that is encoded is sent before the one that it was decided on is published, so that
// the database never waits for that. A batch is one round trip, and fails if another replica wrote
// meanwhile: then the batch on top of it is taken back and decided again. No command is answered
// before its own commit. Batches that are tried again, and for a while all batches after another
// replica wrote, are committed alone, with the head locked (LockedCommitter).
//
// Belongs to the lane's thread; has no lock.
template <class State>
class BatchCommitter {
 public:
  BatchCommitter(const LaneContext<State>& lane, ChangePublisher<State>& publisher,
                 JournalFollower<State>& follower, AnswerQueue<State>& answers)
      : options_(lane.options),
        store_(lane.store),
        clock_(lane.clock),
        db_(lane.db),
        memory_(lane.memory),
        at_(lane.memory.at()),
        outcome_(lane, publisher, answers),
        alone_(lane, follower, outcome_) {}

  // How many commands may be handed to Advance now.
  size_t room() const;
  // Becomes readable when what is sent is to be settled; none: there is nothing to wait for.
  AwaitedSocket socket() const {
    return sent_ == nullptr ? AwaitedSocket{} : sent_->transaction->socket();
  }
  // Nothing is under way: memory may be changed by others.
  bool idle() const { return sent_ == nullptr && open_ == nullptr && taken_.empty(); }

  // Takes `commands`, settles the batch that is sent if it is `answered`, and goes on as far as
  // that goes without waiting. All that was taken is answered in the end. UNAVAILABLE: the database
  // is away; nothing is sent any more, and what is not decided waits for FailUnsent or the next
  // Advance.
  absl::Status Advance(std::vector<LaneCommand<State>> commands, bool answered);
  // To be called when no other command waits. Encodes the open batch, if it is large, while the
  // database has another; it is sent as soon as that one is done. Later commands go into the next.
  void EncodeAhead();
  // Waits until nothing is under way. As Advance.
  absl::Status Drain();
  // Waits for the batch that is sent; all other commands are answered with `status`, as not done.
  void Finish(const absl::Status& status);
  // Answers with `status`, as not done, all commands that are not sent.
  void FailUnsent(const absl::Status& status);

  // For what it counts. Any thread may ask.
  const BatchOutcome<State>& outcome() const { return outcome_; }

 private:
  using Commands = std::vector<LaneCommand<State>>;

  // A batch with its commands, decided.
  struct Pending {
    Pending(State& state, Position from, absl::Time now) : batch(state, std::move(from), now) {}

    Batch<State> batch;
    Commands commands = {};
    absl::Time began = absl::Now();
    std::optional<TransactionRunner::Sent> transaction = {};  // of what is sent
  };

  // Whether the next batch is to lock the head.
  bool MustLock() const {
    return alone_.OthersWrite() || clock_.SinceHead() >= options_.max_time_age;
  }
  absl::Status GoOn();
  // Decides what was taken, as much as one transaction should hold.
  void Fill();
  void SendOpen();
  // Sends more of a batch that did not fit into the socket at once; called between other work, so
  // that the database does not wait for it.
  void SendMore();
  // Waits for the end of the batch that is sent: publishes and answers it, or, if it failed, takes
  // it back with the open one on top of it, which is decided again.
  absl::Status FinishSent();
  void TakeBackOpen();
  static void MarkLate(Commands& commands);
  absl::Status CommitTaken();

  const LaneOptions& options_;
  const Store<State>& store_;
  LaneClock& clock_;
  LaneDb& db_;
  StateCell<State>& memory_;
  Position& at_;  // of its working copy, without what is under way
  BatchOutcome<State> outcome_;
  LockedCommitter<State> alone_;
  std::deque<LaneCommand<State>> taken_;  // and not decided
  std::unique_ptr<Pending> sent_;
  std::unique_ptr<Pending> open_;  // on top of what is sent
};

template <class State>
size_t BatchCommitter<State>::room() const {
  if (!taken_.empty() || (open_ != nullptr && open_->batch.Full(options_))) return 0;
  return sent_ == nullptr ? options_.max_batch : options_.decide_ahead;
}

template <class State>
absl::Status BatchCommitter<State>::Advance(Commands commands, bool answered) {
  MarkLate(commands);
  taken_.insert(taken_.end(), std::make_move_iterator(commands.begin()),
                std::make_move_iterator(commands.end()));
  if (answered && sent_ != nullptr) RETURN_IF_ERROR(FinishSent());
  SendMore();
  return GoOn();
}

template <class State>
void BatchCommitter<State>::EncodeAhead() {
  if (sent_ == nullptr || open_ == nullptr || open_->batch.changes().size() < options_.encode_ahead)
    return;
  // An error is kept in the batch, and reported when it is to be sent.
  open_->batch.Encode(store_, options_).IgnoreError();
}

template <class State>
absl::Status BatchCommitter<State>::GoOn() {
  while (true) {
    if (sent_ == nullptr && open_ != nullptr) SendOpen();
    // It could not be sent, or has nothing to wait for: FinishSent tells at once what came of it.
    if (sent_ != nullptr && socket().fd < 0) RETURN_IF_ERROR(FinishSent());
    if (taken_.empty() || (open_ != nullptr && open_->batch.Full(options_))) {
      if (sent_ != nullptr || open_ == nullptr) return absl::OkStatus();
    } else if (open_ == nullptr && MustLock()) {
      if (sent_ != nullptr) return absl::OkStatus();
      RETURN_IF_ERROR(CommitTaken());
    } else {
      Fill();
    }
  }
}

template <class State>
void BatchCommitter<State>::Fill() {
  if (open_ == nullptr) {
    const absl::Time now = clock_.Now();
    open_ = sent_ == nullptr ? std::make_unique<Pending>(memory_.working(), at_, now)
                             : std::make_unique<Pending>(memory_.working(), sent_->batch.after(),
                                                         std::max(now, sent_->batch.now()));
  }
  while (!taken_.empty() && !open_->batch.Full(options_)) {
    open_->batch.Decide(taken_.front());
    open_->commands.push_back(std::move(taken_.front()));
    taken_.pop_front();
    SendMore();
  }
}

template <class State>
void BatchCommitter<State>::SendMore() {
  if (sent_ != nullptr) sent_->transaction->SendMore();
}

template <class State>
void BatchCommitter<State>::SendOpen() {
  options_.Yield(LanePoint::kBeforeSend);
  sent_ = std::move(open_);
  sent_->transaction =
      db_.Send([&](Transaction& tx) { return sent_->batch.Store(tx, store_, options_); });
}

template <class State>
absl::Status BatchCommitter<State>::FinishSent() {
  const std::unique_ptr<Pending> sent = std::move(sent_);
  Batch<State>& batch = sent->batch;
  bool again = false;
  const absl::Status status =
      db_.Finish(*std::move(sent->transaction), batch.first_revision(), batch.id(), again);
  const absl::Span<LaneCommand<State>> commands = absl::MakeSpan(sent->commands);
  outcome_.RecordWork(commands, sent->began, status);
  if (status.ok()) {
    // The database works on the next while this one is published; not if that had to connect first.
    if (open_ != nullptr && open_->batch.encoded() && db_.IsWriterAtHand()) SendOpen();
    outcome_.Publish(batch);
    outcome_.Answer(commands, status, at_.revision);
    return absl::OkStatus();
  }
  TakeBackOpen();
  batch.TakeBack();
  if (MayBeOfAPart(status) && commands.size() > 1) return alone_.CommitHalves(commands);
  if (again || absl::IsFailedPrecondition(status)) return alone_.Commit(commands);
  outcome_.Answer(commands, status, 0);
  return absl::IsUnavailable(status) ? status : absl::OkStatus();
}

template <class State>
void BatchCommitter<State>::TakeBackOpen() {
  if (open_ == nullptr) return;
  open_->batch.TakeBack();
  taken_.insert(taken_.begin(), std::make_move_iterator(open_->commands.begin()),
                std::make_move_iterator(open_->commands.end()));
  open_ = nullptr;
}

template <class State>
absl::Status BatchCommitter<State>::Drain() {
  absl::Status status;
  while (status.ok() && !idle()) status = sent_ == nullptr ? GoOn() : Advance({}, true);
  return status;
}

template <class State>
void BatchCommitter<State>::Finish(const absl::Status& status) {
  // Nothing is sent any more while what is sent is settled.
  FailUnsent(status);
  if (sent_ != nullptr) FinishSent().IgnoreError();
}

template <class State>
void BatchCommitter<State>::FailUnsent(const absl::Status& status) {
  TakeBackOpen();
  Commands failed(std::make_move_iterator(taken_.begin()), std::make_move_iterator(taken_.end()));
  taken_.clear();
  if (!failed.empty()) outcome_.Answer(absl::MakeSpan(failed), status, 0);
}

template <class State>
void BatchCommitter<State>::MarkLate(Commands& commands) {
  const absl::Time now = NowForDeadlines();
  for (LaneCommand<State>& command : commands) {
    if (command.deadline < now)
      command.status = absl::DeadlineExceededError("The request waited too long to be committed.");
  }
}

template <class State>
absl::Status BatchCommitter<State>::CommitTaken() {
  const size_t count = std::min(taken_.size(), options_.max_batch);
  const auto end = taken_.begin() + static_cast<long>(count);
  Commands commands(std::make_move_iterator(taken_.begin()), std::make_move_iterator(end));
  taken_.erase(taken_.begin(), end);
  return alone_.Commit(absl::MakeSpan(commands));
}

}  // namespace muster::storage
