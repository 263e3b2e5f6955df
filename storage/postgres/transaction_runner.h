#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "storage/postgres/connection_pool.h"
#include "storage/postgres/fault.h"
#include "storage/postgres/wakeup.h"

namespace muster::storage {

class Connection;
class Transaction;

// What runs in a transaction. (absl::FunctionRef of this Abseil wants the argument's type complete,
// which would bring libpqxx into every header.)
using TransactionBody = std::function<absl::Status(Transaction&)>;
using OutcomeResolver = std::function<absl::StatusOr<bool>(Transaction&)>;

// UNAVAILABLE.
absl::Status DatabaseAway();

struct RunnerOptions {
  // Serialization failures, deadlocks and lost connections are tried again so often ...
  int max_attempts = 10;
  // ... and for so long.
  absl::Duration retry_budget = absl::Seconds(2);
  // How to wait between two tries. Tests inject their own.
  std::function<void(absl::Duration)> sleep = {};
  // Called whenever a commit's unknown outcome could not be settled yet: the database is away, and
  // whoever waits behind this transaction had better be told.
  std::function<void()> on_doubt = {};
  // See FaultHook. Not set in production.
  FaultHook fault = {};
};

// Whether `status`, which Run returned, means that a lock was not to be had within lock_timeout.
bool WaitedForLock(const absl::Status& status);

// Whether `status`, which Run returned, may be about a part of what was said, so that the rest
// would go through without it: INTERNAL, but not because a table, a column or a right is missing
// (classes 42 and 3F).
bool MayBeOfAPart(const absl::Status& status);

// A transaction as a function: the only place that commits, retries, and catches libpqxx's
// exceptions. Thread-safe.
class TransactionRunner {
 public:
  TransactionRunner(ConnectionPool* pool, RunnerOptions options);

  // Runs `body` in a transaction and commits it if it returns OK (and anything was said to the
  // database); else rolls back and returns its status. `body` may run several times. `resolve` is
  // asked, in a new transaction, whether an earlier try whose commit's outcome is unknown has
  // committed, and should lock a row, so that its COMMIT waits for a synchronous standby; it is
  // asked again and again until it can be answered, Abort() is called, or the database refuses to
  // say; then, and without `resolve`, an unknown outcome is UNKNOWN. Any other error: nothing was
  // committed. UNAVAILABLE database away, full, read-only, or out of ids of transactions; ABORTED
  // too many conflicts; DEADLINE_EXCEEDED statement timeout; FAILED_PRECONDITION the head is not
  // where journal::Move expects it; INTERNAL anything else. What the database said is the status's
  // cause (error.h), which callers are not shown. `purpose`: see FaultHook.
  absl::Status Run(const TransactionBody& body, const OutcomeResolver& resolve = nullptr,
                   absl::string_view purpose = "run");

  // A body of one statement that needs no transaction around it: one round trip. Otherwise as Run.
  absl::Status RunStatement(const TransactionBody& body, absl::string_view purpose = "run");

  // A transaction that is on its way to the database, COMMIT included. Movable. To be handed to
  // Finish: otherwise what became of it is never known.
  class Sent {
   public:
    struct Parts;
    explicit Sent(std::unique_ptr<Parts> parts);
    Sent(Sent&&) noexcept;
    Sent& operator=(Sent&&) noexcept;
    ~Sent();

    // Becomes readable when the database answers; none: Finish has nothing to wait for.
    AwaitedSocket socket() const;
    // Sends what is not sent yet of it, as far as that goes without waiting. Whatever fails is told
    // by Finish.
    void SendMore();

   private:
    friend class TransactionRunner;
    std::unique_ptr<Parts> parts_;
  };

  // Runs `body` once, and sends what it queued and COMMIT in one round trip, without waiting for
  // the answer, or until all is sent (Sent::SendMore does the rest). Statements that `body` does
  // not queue are waited for. Whatever fails here is told by Finish.
  Sent Send(const TransactionBody& body, absl::string_view purpose);
  // Waits for the end of `sent`; an unknown outcome is settled as by Run. Errors as of Run.
  // `again`: nothing was committed, and it may go through if it is tried again.
  absl::Status Finish(Sent sent, const OutcomeResolver& resolve, bool& again);

  // Ends retries, now and from now on: calls return the error of the try that they are at, or
  // UNKNOWN while an outcome is not settled.
  void Abort() { aborted_ = true; }

  struct Stats {
    int64_t retries = 0;
    int64_t in_doubt = 0;
  };
  Stats stats() const { return {retries_, in_doubt_}; }

 private:
  enum class Outcome { kDone, kConflict, kLost, kInDoubt, kFailed };
  struct Attempt {
    Outcome outcome = Outcome::kDone;
    absl::Status status = {};
    std::string sqlstate = {};  // of what failed it; empty: nothing came from the database
  };

  absl::Status RunLoop(const TransactionBody& body, bool in_transaction,
                       const OutcomeResolver& resolve, absl::string_view purpose);
  Attempt Try(const TransactionBody& body, bool in_transaction, absl::string_view purpose);
  // COMMIT went through, if the transaction had one that matters. `committing`: as for Guard.
  Attempt Committed(Connection& connection, bool mattered, bool committing, absl::Duration began,
                    absl::Duration commits);
  // Calls `step`, which may throw what libpqxx throws, and sets `committing` before the outcome
  // can be unknown.
  Attempt Guard(Connection& connection, const bool& committing,
                const std::function<Attempt()>& step);
  Attempt Lost(Connection& connection, bool committing, absl::string_view what,
               absl::string_view sqlstate = "");
  Attempt Refused(Connection& connection, bool committing, absl::string_view what,
                  absl::string_view sqlstate);
  // Settles an unknown outcome: it is done, or nothing was committed, or nobody can tell.
  Attempt SettleDoubt(Attempt in_doubt, const OutcomeResolver& resolve);
  // Counts a try that is to be followed by another.
  void CountRetry(const Attempt& attempt);
  // Whether it committed. UNKNOWN: aborted, or the resolver cannot tell or fails again and again.
  absl::StatusOr<bool> ResolveOutcome(const OutcomeResolver& resolve);
  void Sleep(int attempt);
  DatabaseObserver* observer() const { return pool_->options().observer.get(); }

  ConnectionPool* const pool_;
  const RunnerOptions options_;
  std::atomic<bool> aborted_ = false;
  std::atomic<int64_t> retries_ = 0;
  std::atomic<int64_t> in_doubt_ = 0;
};

}  // namespace muster::storage
