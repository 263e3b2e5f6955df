#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/clock.h"
#include "services/common/coalesced_job.h"
#include "services/common/stopper.h"
#include "storage/postgres/answer_watchdog.h"
#include "storage/postgres/connection_pool.h"
#include "storage/postgres/history.h"
#include "storage/postgres/journal.h"
#include "storage/postgres/transaction_runner.h"
#include "storage/postgres/wakeup.h"

namespace muster::storage {

// Where a test may hold up or change the world while a lane is between two steps.
enum class LanePoint {
  kBeforeBarrier,  // reads wait, the head is about to be asked
  kAfterBarrier,   // the head has answered, no read has
  kReadsKept,      // reads are about to wait until memory shows what they must see
  kNextSnapshot,   // watches are about to begin with a snapshot, all at the one that they share
  kSnapshotTaken,  // of a watch that is not yet sent changes
  kResumeLevel,    // a resumed watch has read the journal as far as memory and is not yet sent
                   // changes
  kBeforeSend,     // a batch is decided, and goes to the database next
  kBeforePublish,  // a batch is committed, memory does not show it
  kBeforeLoad,     // memory is about to be loaded anew, the head is not locked
  kNextPiece,      // of memory, which is read piece by piece, the next is about to be read
};

// How a lane works. Limits are counted, not timed.
struct LaneOptions {
  ConnectOptions connect = {};
  // Commands decided in one transaction at most.
  size_t max_batch = 2'000;
  // Most reads that share one question for the head. They are taken from all callers in turn, so
  // that no caller waits for more of another's reads than that.
  size_t max_reads = 256;
  // Changes, and time to decide, after which a transaction takes no more commands: what it holds up
  // is then a fraction of any timeout. A command is never divided.
  size_t max_batch_changes = 20'000;
  absl::Duration max_decide = absl::Milliseconds(500);
  // Most bytes to be sent in one transaction; more commands are divided among several. Postgres
  // takes no statement of 1 GiB, and libpq moves all that is still unsent each time that it sends
  // some of it.
  size_t max_batch_bytes = size_t{32} << 20;
  // Most commands decided in a row while a batch is on its way to the database: few, so that its
  // end is seen soon.
  size_t decide_ahead = 64;
  // A batch of at least so many changes is encoded while the database has another: encoding it
  // takes longer than one more round trip.
  size_t encode_ahead = 256;
  // A batch is decided without a look at the head only if the last look, from which the database's
  // time is known, is more recent than this.
  absl::Duration max_time_age = absl::Seconds(2);
  // Commands that may wait in each of the queue's two lines; one more is answered UNAVAILABLE at
  // once.
  size_t max_queue = 50'000;
  // Changes that may wait for a slow watcher.
  size_t max_watch_queue = 20'000;
  // Changes that may wait for all slow watchers of one caller, those with few (kFewChanges) left
  // out.
  size_t max_waiting = 2'000'000;
  // A caller's watch begins with a snapshot only while those that its readers have not taken yet
  // have fewer rows than this, at 32 bytes a row. One of any size always begins, and so does one
  // that has at most `few_snapshot_rows`.
  size_t max_snapshot_rows = 2'000'000;
  size_t few_snapshot_rows = 100;
  // Bytes of the journal that wait for the readers of one caller's watches that resume. While there
  // are more, each of these watches is read only `least_window` changes ahead.
  size_t max_read_ahead = size_t{64} << 20;
  size_t least_window = 8;
  // How long a reader may take nothing of much that waits for it (Watcher::EndIfLate). A stream
  // that bundles takes a thousand rows at a time: who works at each of them for long is no late
  // reader.
  absl::Duration late_reader = absl::Minutes(1);
  // Journal rows read at once when catching up.
  int64_t catch_up_chunk = 5'000;
  // How often an idle lane looks at the head: the back-up of LISTEN, and how soon readiness follows
  // the database.
  absl::Duration poll = absl::Seconds(1);
  // How often reads that wait for memory are looked at because of their deadlines.
  absl::Duration read_poll = absl::Milliseconds(100);
  // What the journal keeps at most, for watches that resume and for reads of the past: so many
  // changes, none of them older than this. The rest is forgotten now and then.
  int64_t journal_keep = 1'000'000;
  absl::Duration journal_keep_time = absl::InfiniteDuration();
  // How this process writes them.
  JournalPacking journal_packing = JournalPacking::kZstd;
  // How often watches are told how far they have come, and gone ones are forgotten.
  absl::Duration progress_interval = absl::Seconds(1);
  // How long the database may be away before watches end: a replica that alone has lost it would
  // leave them without what others commit. No watch begins meanwhile.
  absl::Duration watch_grace = absl::Seconds(30);
  RunnerOptions runner = {};
  // Called on the lane's threads. Not set in production.
  std::function<void(LanePoint)> yield = {};

  void Yield(LanePoint point) const {
    if (yield) yield(point);
  }
};

// Counters since the start, for metrics.
struct LaneStats {
  int64_t revision = 0;
  int64_t queued = 0;          // commands that are not answered, those under way too
  int64_t batches = 0;         // committed
  int64_t commands = 0;        // answered
  int64_t done_commands = 0;   // of those, with their own decision: their batch did not fail
  int64_t changes = 0;         // journaled by this process
  int64_t failed_batches = 0;  // answered with one error as a whole
  int64_t retries = 0;         // transactions tried again
  int64_t in_doubt = 0;        // commits whose outcome was unknown at first
  int64_t watchers = 0;
  int64_t refused_watches = 0;  // for what their callers have not read (max_snapshot_rows)
  int64_t history_replaced =
      0;                  // times that memory was loaded anew because the database lost commits
  int64_t past_rows = 0;  // looked at, in memory and in the journal, to work out lists of the past
};

// What Compare found.
struct Comparison {
  int64_t revision = 0;
  int64_t resources = 0;
  bool whole_journal = false;                 // the journal still reaches back to revision 1
  std::vector<std::string> differences = {};  // at most 100
};

// A lane's connections, and the threads that listen for other processes' commits, announce its own
// and compact the journal.
class LaneDb {
 public:
  // `clock`: by which changes get their times. It and `options` must outlive this.
  LaneDb(const LaneOptions& options, const Clock* clock);
  ~LaneDb();

  // Starts to LISTEN; `on_notify` is called from the tailer's thread with the revision that
  // somebody announced.
  void StartTailer(std::function<void(int64_t revision)> on_notify);
  // Ends the threads; transactions that wait give up. Idempotent.
  void Stop();

  // Whether the database answered when the lane last asked it. Set by the lane.
  bool ready() const { return ready_; }
  void set_ready(bool ready) { ready_ = ready; }

  // One transaction with the writer's runner. An unknown outcome is settled by whether the head, or
  // the change with `*first_revision`, bears `*batch`; UNKNOWN when that change is compacted away.
  absl::Status Write(const TransactionBody& body, const int64_t* first_revision,
                     const std::string* batch);
  // As Write, but tried only once, and in two steps: what `body` queues is on its way when Send
  // returns. See TransactionRunner.
  TransactionRunner::Sent Send(const TransactionBody& body) { return writer_.Send(body, "write"); }
  // Whether Send need not connect first.
  bool IsWriterAtHand() { return write_pool_.IsAtHand(); }
  absl::Status Finish(TransactionRunner::Sent sent, int64_t first_revision,
                      const std::string& batch, bool& again);
  // Runs `body` in a read-only, repeatable-read snapshot, on connections for long reads: nobody's
  // question for the head waits for it.
  absl::Status Read(const TransactionBody& body);
  // Journal rows with after < revision <= upto. UNAVAILABLE, too, if one cannot be unpacked.
  absl::StatusOr<std::vector<JournalRow>> ReadJournal(int64_t after, int64_t upto);
  // The head, and the batch of revision `known`, on a connection of the readers' own.
  absl::StatusOr<Head> PeekHead(int64_t known, absl::string_view purpose = "peek");
  // The same for reads. If commits wait for a standby, this also proves that no other server, which
  // may have been promoted unseen, took commits when the head was read.
  absl::StatusOr<Head> ReadHead(int64_t known);
  // Judges with the head locked, on the writer's connection. A replaced history that still bears
  // the name of the lost one gets a new name, so that the two are not confused. `truth`: the head
  // thereafter.
  absl::StatusOr<Continuity> Confirm(const Position& known, Head& truth);
  // Closes the readers' idle connections: they may be to a server that is not the writer's.
  void DropReaders() {
    read_pool_.DropIdle();
    load_pool_.DropIdle();
  }
  // Forgets up to `revision`, and deletes all that is forgotten.
  absl::Status Compact(int64_t revision);
  // Forgets what is beyond journal_keep or journal_keep_time, but at most kCompactChunk revisions,
  // and never the last; deletes all that is forgotten. True: there may be more to forget.
  absl::StatusOr<bool> CompactSome();
  // Announces a commit, soon and from a thread of its own; several at once are one announcement.
  // Best effort: the others poll.
  void Announce(int64_t revision);

  // A batch id that no other batch has.
  static std::string NewBatchId();

  TransactionRunner::Stats stats() const { return writer_.stats(); }

 private:
  // Whether the batch that wrote the revision was committed.
  static absl::StatusOr<bool> WasCommitted(Transaction& tx, int64_t first_revision,
                                           const std::string& batch);
  // If `status` is DEADLINE_EXCEEDED, the head may be held by a session whose client is frozen:
  // ends such a session, so that the next transaction gets the head. Returns `status`.
  absl::Status FreeHead(absl::Status status);
  // The last revision that is older than journal_keep_time; 0: none that the journal still has.
  absl::StatusOr<int64_t> TooOld();
  void RunTailer();
  void NotifyOthers();
  void RunCompactor();

  const LaneOptions& options_;
  const Clock& clock_;
  const std::string channel_;
  ConnectionPool write_pool_;
  ConnectionPool read_pool_;
  ConnectionPool load_pool_;
  TransactionRunner writer_;
  TransactionRunner reader_;
  TransactionRunner loader_;
  std::function<void(int64_t)> on_notify_;
  std::atomic<bool> ready_ = true;
  std::atomic<bool> waits_for_standby_ = false;  // as ReadHead last heard
  Stopper stopper_;                              // of the tailer and the compactor
  std::atomic<int64_t> to_announce_ = 0;
  CoalescedJob announcer_;
  AnswerWatchdog tailer_watchdog_;
  Wakeup tailer_wakeup_;  // Stop's
  std::thread tailer_;
  std::thread compactor_;
};

}  // namespace muster::storage
