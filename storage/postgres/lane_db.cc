#include "storage/postgres/lane_db.h"

#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <random>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "services/common/cause.h"
#include "services/common/log.h"
#include "services/common/status_macros.h"
#include "storage/postgres/change_log.h"
#include "storage/postgres/journal_packing.h"
#include "storage/postgres/transaction.h"

namespace muster::storage {
namespace {

// For reads that are answered at once.
constexpr int kReadConnections = 3;
// For reads whose time grows with the tables: the lane's own, a comparison, an audit, and two reads
// of the past at a time.
constexpr int kLoadConnections = 5;

// How long the tailer waits for a notification before it looks whether its server has lost the
// writes, and after a failure.
constexpr absl::Duration kListenLook = absl::Milliseconds(200);

// How often the journal is looked at, and how much of it is forgotten in one transaction: about a
// tenth of a second's work, so that nobody who waits for the head's lock notices.
constexpr absl::Duration kCompactInterval = absl::Minutes(1);
constexpr int64_t kCompactChunk = 20'000;

// Commits within this time are announced together: one announcement costs Postgres more than a
// small commit does (it wakes every session that listens in the database, whatever its channel).
// Only watches and loops of other replicas wait for it; reads there ask for the head themselves.
constexpr absl::Duration kAnnounceGap = absl::Milliseconds(10);

class Receiver final : public pqxx::notification_receiver {
 public:
  Receiver(pqxx::connection_base& connection, const std::string& channel,
           const std::function<void(int64_t)>& on_notify)
      : pqxx::notification_receiver(connection, channel), on_notify_(on_notify) {}

  void operator()(const std::string& payload, int /*backend_pid*/) override {
    int64_t revision = 0;
    if (absl::SimpleAtoi(payload, &revision)) on_notify_(revision);
  }

 private:
  const std::function<void(int64_t)>& on_notify_;
};

// LISTEN, for as long as it lives. It ends, and the connection with it, without waiting for an
// answer.
class Listening {
 public:
  Listening(Connection& connection, const std::string& channel,
            const std::function<void(int64_t)>& on_notify)
      : connection_(connection) {
    const Connection::Question question(connection_);
    receiver_.emplace(connection_.raw(), channel, on_notify);
  }
  ~Listening() {
    shutdown(connection_.raw().sock(), SHUT_RDWR);
    const Connection::Question question(connection_);
    receiver_.reset();  // says UNLISTEN
  }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  Connection& connection_;
  std::optional<Receiver> receiver_;
};

RunnerOptions ReaderOptions(RunnerOptions options) {
  // Readers want to be told soon that the database is away: one more try, no more.
  options.max_attempts = 2;
  options.on_doubt = nullptr;
  return options;
}

}  // namespace

LaneDb::LaneDb(const LaneOptions& options, const Clock* clock)
    : options_(options),
      clock_(*clock),
      channel_(absl::StrCat("muster_", options.connect.schema)),
      write_pool_(options.connect, 1),
      read_pool_(options.connect, kReadConnections),
      load_pool_(options.connect, kLoadConnections),
      writer_(&write_pool_, options.runner),
      reader_(&read_pool_, ReaderOptions(options.runner)),
      loader_(&load_pool_, ReaderOptions(options.runner)),
      announcer_(kAnnounceGap, [this] { NotifyOthers(); }),
      tailer_watchdog_(options.connect.statement_timeout + options.connect.answer_grace) {}

LaneDb::~LaneDb() { Stop(); }

void LaneDb::StartTailer(std::function<void(int64_t)> on_notify) {
  on_notify_ = std::move(on_notify);
  tailer_ = std::thread([this] { RunTailer(); });
  compactor_ = std::thread([this] { RunCompactor(); });
}

void LaneDb::Stop() {
  stopper_.Stop();
  tailer_wakeup_.Signal();
  writer_.Abort();
  reader_.Abort();
  loader_.Abort();
  announcer_.Stop();
  if (tailer_.joinable()) tailer_.join();
  if (compactor_.joinable()) compactor_.join();
}

void LaneDb::RunTailer() {
  ConnectOptions connect = options_.connect;
  connect.application_name = absl::StrCat(connect.application_name, "-tailer");
  while (!stopper_.stopped()) {
    // Whatever goes wrong here costs time, never truth: the lane polls the head by itself.
    try {
      const int64_t losses = connect.writable_host->losses();
      Connection connection(EffectiveConninfo(connect), &tailer_watchdog_);
      const Listening listening(connection, channel_, on_notify_);
      // A server that another took the writes over from may live on, and has nothing to tell.
      while (!stopper_.stopped() && connect.writable_host->losses() == losses) {
        if (connection.raw().get_notifs() == 0)
          tailer_wakeup_.Wait({.fd = connection.raw().sock()}, kListenLook);
      }
    } catch (const std::exception&) {
      stopper_.Sleep(kListenLook);
    }
  }
}

absl::Status LaneDb::Write(const TransactionBody& body, const int64_t* first_revision,
                           const std::string* batch) {
  return FreeHead(writer_.Run(
      body, [=](Transaction& tx) { return WasCommitted(tx, *first_revision, *batch); }, "write"));
}

absl::Status LaneDb::Finish(TransactionRunner::Sent sent, int64_t first_revision,
                            const std::string& batch, bool& again) {
  return FreeHead(writer_.Finish(
      std::move(sent), [&](Transaction& tx) { return WasCommitted(tx, first_revision, batch); },
      again));
}

absl::Status LaneDb::FreeHead(absl::Status status) {
  if (!absl::IsDeadlineExceeded(status)) return status;
  const absl::Status freed = reader_.RunStatement(
      [&](Transaction& tx) {
        const int ended = journal::EndStalled(tx, options_.connect.idle_in_transaction_timeout);
        if (ended > 0)
          log::Warn("a writer held the head and sent no more; its session was ended",
                    {{"schema", options_.connect.schema}, {"sessions", ended}});
        return absl::OkStatus();
      },
      "free head");
  if (!freed.ok())
    log::Warn("could not look who holds the head",
              {{"schema", options_.connect.schema}, {"error", error::ForOperators(freed)}});
  return status;
}

absl::StatusOr<bool> LaneDb::WasCommitted(Transaction& tx, int64_t first_revision,
                                          const std::string& batch) {
  // The lock waits for a session that has it and may still commit on our behalf. One that may not
  // have it yet was ended (TransactionRunner::Finish).
  const Head head = journal::Lock(tx, first_revision);
  if (head.batch == batch || head.known_batch == batch) return true;
  if (first_revision > head.compacted_revision) return false;
  return absl::UnknownError("The journal no longer tells whether it was committed.");
}

absl::Status LaneDb::Read(const TransactionBody& body) {
  return loader_.Run(
      [&](Transaction& tx) {
        tx.BeginRepeatableRead();
        return body(tx);
      },
      nullptr, "read");
}

absl::StatusOr<Head> LaneDb::PeekHead(int64_t known, absl::string_view purpose) {
  Head head;
  RETURN_IF_ERROR(reader_.RunStatement(
      [&](Transaction& tx) {
        head = journal::Peek(tx, known);
        return absl::OkStatus();
      },
      purpose));
  return head;
}

absl::StatusOr<Head> LaneDb::ReadHead(int64_t known) {
  if (!waits_for_standby_) {
    ASSIGN_OR_RETURN(const Head head, PeekHead(known, "barrier"));
    if (!head.waits_for_standby) return head;
  }
  Head head;
  RETURN_IF_ERROR(reader_.Run(
      [&](Transaction& tx) {
        head = journal::Prove(tx, known);
        return absl::OkStatus();
      },
      nullptr, "barrier"));
  waits_for_standby_ = head.waits_for_standby;
  return head;
}

absl::StatusOr<Continuity> LaneDb::Confirm(const Position& known, Head& truth) {
  Continuity continuity;
  RETURN_IF_ERROR(writer_.Run(
      [&](Transaction& tx) {
        truth = journal::Lock(tx, known.revision);
        continuity = Judge(known, truth);
        if (!continuity.replaced() || truth.incarnation != known.incarnation)
          return absl::OkStatus();
        journal::Rename(tx);
        truth = journal::Lock(tx, known.revision);
        return absl::OkStatus();
      },
      // If in doubt, tried again: a history that is renamed twice is as good as one renamed once.
      [](Transaction&) -> absl::StatusOr<bool> { return false; }, "confirm"));
  return continuity;
}

absl::StatusOr<std::vector<JournalRow>> LaneDb::ReadJournal(int64_t after, int64_t upto) {
  std::vector<JournalRow> rows;
  RETURN_IF_ERROR(reader_.RunStatement(
      [&](Transaction& tx) {
        rows = journal::Read(tx, after, upto, options_.catch_up_chunk);
        return absl::OkStatus();
      },
      "resume"));
  // Watchers get a change unread.
  for (const JournalRow& row : rows) {
    if (row.bytes != nullptr && IsStillPacked(*row.bytes)) {
      return error::Unavailable(
          absl::StrCat("Change ", row.revision, " of the journal cannot be read."));
    }
  }
  return rows;
}

absl::Status LaneDb::Compact(int64_t revision) {
  // If in doubt, tried again: each step done twice has the effect of one.
  const auto again = [](Transaction&) -> absl::StatusOr<bool> { return false; };
  RETURN_IF_ERROR(reader_.Run(
      [&](Transaction& tx) {
        journal::MoveCompacted(tx, revision);
        return absl::OkStatus();
      },
      again, "compact"));
  // In transactions of their own, so that the head is not locked while rows are deleted; in chunks,
  // so that each statement ends in time, however many rows were left by calls that failed.
  int64_t deleted = 0;
  do {
    RETURN_IF_ERROR(reader_.Run(
        [&](Transaction& tx) {
          deleted = journal::DeleteCompacted(tx, kCompactChunk);
          return absl::OkStatus();
        },
        again, "compact"));
  } while (deleted > 0 && !stopper_.stopped());
  return absl::OkStatus();
}

absl::StatusOr<bool> LaneDb::CompactSome() {
  ASSIGN_OR_RETURN(const Head head, PeekHead(0));
  const int64_t chunk_end = head.compacted_revision + kCompactChunk;
  ASSIGN_OR_RETURN(const int64_t too_old, TooOld());
  const int64_t all = std::max(head.revision - options_.journal_keep, too_old);
  // Never the last: by it those who are level see that the next one follows.
  const int64_t some = std::min({all, chunk_end, head.revision - 1});
  // Also where there is nothing more to forget: rows may have been left.
  RETURN_IF_ERROR(Compact(some));
  return some == chunk_end;
}

absl::StatusOr<int64_t> LaneDb::TooOld() {
  if (options_.journal_keep_time == absl::InfiniteDuration()) return 0;
  int64_t last = 0;
  RETURN_IF_ERROR(reader_.RunStatement(
      [&](Transaction& tx) {
        // What is exactly as old is kept.
        const absl::Time kept = clock_.Now() - options_.journal_keep_time;
        last = journal::RevisionAt(tx, kept - absl::Microseconds(1));
        return absl::OkStatus();
      },
      "compact"));
  return last;
}

void LaneDb::RunCompactor() {
  while (stopper_.Sleep(kCompactInterval)) {
    // What fails is tried again the next time.
    absl::StatusOr<bool> more = true;
    while (!stopper_.stopped() && more.ok() && *more) more = CompactSome();
    if (!more.ok() && !absl::IsUnavailable(more.status())) {
      log::Warn(
          "the journal could not be compacted",
          {{"schema", options_.connect.schema}, {"error", error::ForOperators(more.status())}});
    }
  }
}

void LaneDb::Announce(int64_t revision) {
  to_announce_ = revision;
  announcer_.Request();
}

void LaneDb::NotifyOthers() {
  // A lost announcement is made good by the others' polls.
  reader_
      .RunStatement(
          [&](Transaction& tx) {
            journal::Notify(tx, channel_, to_announce_);
            return absl::OkStatus();
          },
          "announce")
      .IgnoreError();
}

std::string LaneDb::NewBatchId() {
  thread_local std::mt19937_64 random{std::random_device{}()};
  // 96 bits in 16 characters: it stands in every row of the journal.
  std::string bits;
  while (bits.size() < 12) bits.push_back(static_cast<char>(random()));
  return absl::WebSafeBase64Escape(bits);
}

}  // namespace muster::storage
