#include "storage/postgres/transaction_runner.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/random/random.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/backoff.h"
#include "services/common/cause.h"
#include "services/common/error.h"
#include "storage/postgres/transaction.h"

namespace muster::storage {
namespace {

constexpr absl::Duration kFirstWait = absl::Milliseconds(5);
constexpr absl::Duration kLongestWait = absl::Milliseconds(250);
constexpr absl::Duration kAcquireTimeout = absl::Seconds(5);

// How often the database may refuse to say what became of a commit.
constexpr int kMaxSettleFailures = 10;

// The server takes no writes: a standby, or a primary that was made one.
constexpr absl::string_view kReadOnly = "25006";
// In place of one where nothing came from the server.
constexpr absl::string_view kNoSqlState = "connection";
// Division by zero: the head was not where journal::Move expects it.
constexpr absl::string_view kHeadIsElsewhere = "22012";
// A lock was not to be had within lock_timeout.
constexpr absl::string_view kLockTimeout = "55P03";
// The statement was cancelled: a timeout.
constexpr absl::string_view kCancelled = "57014";

// 57P01..57P03: the server shuts down, crashed, or starts up. 25P03: it cut an idle transaction.
// 53: it is out of disk, memory or connections. 58: its system fails it.
bool IsAway(absl::string_view sqlstate) {
  return absl::StartsWith(sqlstate, "57P") || absl::StartsWith(sqlstate, "08") ||
         absl::StartsWith(sqlstate, "53") || absl::StartsWith(sqlstate, "58") ||
         sqlstate == kReadOnly || sqlstate == "25P03";
}

// libpqxx fills in none for what has a class of its own.
std::string SqlStateOf(const pqxx::transaction_rollback& error) {
  if (dynamic_cast<const pqxx::serialization_failure*>(&error) != nullptr) return "40001";
  if (dynamic_cast<const pqxx::deadlock_detected*>(&error) != nullptr) return "40P01";
  return "40000";
}

// Ends a transaction of which a statement failed, so that the connection serves others.
void EndFailed(Connection& connection) {
  try {
    pqxx::nontransaction(connection.raw()).exec("ROLLBACK");
  } catch (const std::exception&) {
    connection.MarkBroken();
  }
}

absl::Status TookTooLong(absl::string_view cause) {
  return error::WithCause(
      absl::DeadlineExceededError("The database took too long, and was stopped."), cause);
}

absl::Status InDoubt(absl::string_view cause) {
  return error::WithCause(absl::UnknownError("Whether it was committed is unknown."), cause);
}

}  // namespace

TransactionRunner::TransactionRunner(ConnectionPool* pool, RunnerOptions options)
    : pool_(pool), options_(std::move(options)) {}

absl::Status TransactionRunner::Run(const TransactionBody& body, const OutcomeResolver& resolve,
                                    absl::string_view purpose) {
  return RunLoop(body, true, resolve, purpose);
}

absl::Status TransactionRunner::RunStatement(const TransactionBody& body,
                                             absl::string_view purpose) {
  return RunLoop(body, false, nullptr, purpose);
}

absl::Status TransactionRunner::RunLoop(const TransactionBody& body, bool in_transaction,
                                        const OutcomeResolver& resolve, absl::string_view purpose) {
  const absl::Time give_up = absl::Now() + options_.retry_budget;
  for (int attempt = 1;; ++attempt) {
    Attempt result = Try(body, in_transaction, purpose);
    switch (result.outcome) {
      case Outcome::kDone:
      case Outcome::kFailed:
        return result.status;
      case Outcome::kInDoubt: {
        ++in_doubt_;
        if (!resolve) return result.status;
        absl::StatusOr<bool> committed = ResolveOutcome(resolve);
        if (!committed.ok()) return committed.status();
        if (*committed) return absl::OkStatus();
        result.status = error::Unavailable("The database went away; nothing was committed.");
        break;
      }
      case Outcome::kConflict:
      case Outcome::kLost:
        break;
    }
    ++retries_;
    if (observer() != nullptr)
      observer()->Failed(result.sqlstate.empty() ? kNoSqlState : result.sqlstate);
    if (aborted_ || attempt >= options_.max_attempts || absl::Now() >= give_up)
      return result.status;
    Sleep(attempt);
  }
}

TransactionRunner::Attempt TransactionRunner::Try(const TransactionBody& body, bool in_transaction,
                                                  absl::string_view purpose) {
  absl::StatusOr<ConnectionPool::Loan> loan = pool_->Acquire(absl::Now() + kAcquireTimeout);
  if (!loan.ok()) return {Outcome::kLost, loan.status()};
  Connection& connection = **loan;
  bool committing = false;
  const auto lost = [&](absl::string_view what, const std::string& sqlstate = "") -> Attempt {
    connection.MarkBroken();
    // What broke one has most likely broken those that nobody uses.
    pool_->DropIdle();
    if (committing) return {Outcome::kInDoubt, InDoubt(what), sqlstate};
    return {Outcome::kLost, error::WithCause(error::Unavailable("The database is away."), what),
            sqlstate};
  };
  const absl::Time began = absl::Now();
  // The order of the handlers matters: the first three do not derive from sql_error.
  try {
    Transaction tx(connection, &options_.fault, purpose);
    if (!in_transaction) tx.begun_ = true;
    absl::Status status = body(tx);
    if (!in_transaction)
      return {status.ok() ? Outcome::kDone : Outcome::kFailed, std::move(status)};
    if (!status.ok()) {
      tx.RollBack();
      return {Outcome::kFailed, std::move(status)};
    }
    committing = tx.Writes();
    connection.TakeWarning();
    const absl::Time commits = absl::Now();
    tx.Commit();
    // A COMMIT that is cancelled while it waits for its synchronous standby says OK all the same:
    // it is done here, and may be lost with this server.
    const std::string warning = committing ? connection.TakeWarning() : "";
    if (!warning.empty()) return {Outcome::kInDoubt, InDoubt(warning)};
    if (committing && observer() != nullptr)
      observer()->Committed(absl::Now() - began, absl::Now() - commits);
    return {};
  } catch (const pqxx::in_doubt_error& e) {
    committing = true;
    return lost(e.what());
  } catch (const pqxx::statement_completion_unknown& e) {
    committing = true;
    return lost(e.what());
  } catch (const pqxx::transaction_rollback& e) {
    connection.MarkBroken();
    return {Outcome::kConflict,
            error::WithCause(absl::AbortedError("Lost a race in the database."), e.what()),
            SqlStateOf(e)};
  } catch (const pqxx::broken_connection& e) {
    return lost(e.what());
  } catch (const pqxx::insufficient_resources& e) {
    // Out of disk or memory. (libpqxx fills in no SQLSTATE for what has a class of its own.)
    return lost(e.what(), "53000");
  } catch (const pqxx::sql_error& e) {
    // What a read-only server refused leaves no doubt, which only one that writes could resolve.
    if (e.sqlstate() == kReadOnly) committing = false;
    if (IsAway(e.sqlstate())) return lost(e.what(), e.sqlstate());
    // A timeout may be another's than the server's: whether what was sent had its effect is to be
    // asked.
    if (e.sqlstate() == kCancelled && committing) return lost(e.what(), e.sqlstate());
    if (e.sqlstate() == kHeadIsElsewhere) {
      EndFailed(connection);
      return {Outcome::kFailed, absl::FailedPreconditionError("The head is elsewhere.")};
    }
    if (e.sqlstate() == kLockTimeout) {
      EndFailed(connection);
      return {Outcome::kFailed, TookTooLong(e.what())};
    }
    // A failed statement has rolled the transaction back on the server, even a COMMIT's (deferred
    // constraints).
    connection.MarkBroken();
    if (e.sqlstate() == kCancelled) {
      return {Outcome::kFailed, TookTooLong(e.what())};
    }
    return {
        Outcome::kFailed,
        error::WithCause(absl::InternalError("The database refused a statement."),
                         absl::StrCat(e.sqlstate(), e.sqlstate().empty() ? "" : ": ", e.what()))};
  } catch (const std::exception& e) {
    return lost(e.what());
  }
}

absl::StatusOr<bool> TransactionRunner::ResolveOutcome(const OutcomeResolver& resolve) {
  if (observer() != nullptr) observer()->DoubtChanged(1);
  const absl::Cleanup settled = [this] {
    if (observer() != nullptr) observer()->DoubtChanged(-1);
  };
  int failures = 0;
  for (int attempt = 1;; ++attempt) {
    absl::StatusOr<bool> answer = false;
    const Attempt result = Try(
        [&](Transaction& tx) {
          answer = resolve(tx);
          return answer.status();
        },
        true, "settle");
    // Not before its own COMMIT is through: by locking a row it waits for the synchronous standby,
    // which then has what was committed earlier too.
    if (result.outcome == Outcome::kDone) return answer;
    // It was answered: nobody can tell any more.
    if (absl::IsUnknown(answer.status())) return answer;
    if (result.outcome == Outcome::kFailed && !absl::IsDeadlineExceeded(result.status) &&
        ++failures >= kMaxSettleFailures)
      return InDoubt(error::ForOperators(result.status));
    if (aborted_)
      return absl::UnknownError("Stopped before the outcome of a commit could be settled.");
    if (options_.on_doubt) options_.on_doubt();
    Sleep(attempt);
  }
}

void TransactionRunner::Sleep(int attempt) {
  thread_local absl::BitGen random;
  const absl::Duration wait = Jittered(PauseAfter(attempt + 1, kFirstWait, kLongestWait), random);
  if (options_.sleep) return options_.sleep(wait);
  std::this_thread::sleep_for(absl::ToChronoNanoseconds(wait));
}

}  // namespace muster::storage
