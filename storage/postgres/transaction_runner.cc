#include "storage/postgres/transaction_runner.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/random/random.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/backoff.h"
#include "services/common/cause.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/common/steady_clock.h"
#include "storage/postgres/lost_session.h"
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
// In place of an SQLSTATE, if the server sent none.
constexpr absl::string_view kNoSqlState = "connection";
// Division by zero: the head was not where journal::Move expects it.
constexpr absl::string_view kHeadIsElsewhere = "22012";
// A lock was not to be had within lock_timeout.
constexpr absl::string_view kLockTimeout = "55P03";
// The statement was cancelled: a timeout.
constexpr absl::string_view kCancelled = "57014";
// A limit of Postgres'. No row of ours reaches one: it gives out no more ids of transactions until
// it is vacuumed.
constexpr absl::string_view kOutOfIds = "54000";

// 53: the server is out of disk, memory or connections. It answers all the same: what else is
// connected to it may well read on.
bool LacksMeans(absl::string_view sqlstate) {
  return absl::StartsWith(sqlstate, "53") || sqlstate == kOutOfIds;
}

// 57P01..57P03: the server shuts down, crashed, or starts up. 25P03, 25P04: it cut a transaction
// that was idle, or (PostgreSQL 17) took longer than transaction_timeout, which a role may have.
// 58: its system fails it.
bool IsAway(absl::string_view sqlstate) {
  return absl::StartsWith(sqlstate, "57P") || absl::StartsWith(sqlstate, "08") ||
         absl::StartsWith(sqlstate, "58") || LacksMeans(sqlstate) || sqlstate == kReadOnly ||
         sqlstate == "25P03" || sqlstate == "25P04";
}

// libpqxx leaves sqlstate() empty in errors that have a class of their own.
std::string SqlStateOf(const pqxx::transaction_rollback& error) {
  if (dynamic_cast<const pqxx::serialization_failure*>(&error) != nullptr) return "40001";
  if (dynamic_cast<const pqxx::deadlock_detected*>(&error) != nullptr) return "40P01";
  return "40000";
}

// Out of disk, memory or connections.
std::string SqlStateOf(const pqxx::insufficient_resources& error) {
  if (!error.sqlstate().empty()) return error.sqlstate();
  if (dynamic_cast<const pqxx::disk_full*>(&error) != nullptr) return "53100";
  if (dynamic_cast<const pqxx::out_of_memory*>(&error) != nullptr) return "53200";
  return "53000";
}

// Ends a transaction of which a statement failed, so that the connection serves others.
void EndFailed(Connection& connection) {
  try {
    const Connection::Question question(connection);
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

absl::Status DatabaseAway() { return error::Unavailable("The database is away."); }

bool WaitedForLock(const absl::Status& status) {
  return absl::StartsWith(error::CauseOf(status), kLockTimeout);
}

bool MayBeOfAPart(const absl::Status& status) {
  const std::string cause = error::CauseOf(status);
  const bool has_state = cause.find(": ") == 5;
  const bool misses_something = absl::StartsWith(cause, "42") || absl::StartsWith(cause, "3F");
  return absl::IsInternal(status) && !(has_state && misses_something);
}

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
  const absl::Duration give_up = TheSteadyClock()->Now() + options_.retry_budget;
  for (int attempt = 1;; ++attempt) {
    Attempt result = Try(body, in_transaction, purpose);
    if (result.outcome == Outcome::kInDoubt) result = SettleDoubt(std::move(result), resolve);
    if (result.outcome == Outcome::kDone || result.outcome == Outcome::kFailed)
      return result.status;
    CountRetry(result);
    if (aborted_ || attempt >= options_.max_attempts || TheSteadyClock()->Now() >= give_up)
      return result.status;
    Sleep(attempt);
  }
}

void TransactionRunner::CountRetry(const Attempt& attempt) {
  ++retries_;
  if (observer() != nullptr)
    observer()->Failed(attempt.sqlstate.empty() ? kNoSqlState : attempt.sqlstate);
}

TransactionRunner::Attempt TransactionRunner::Try(const TransactionBody& body, bool in_transaction,
                                                  absl::string_view purpose) {
  absl::StatusOr<ConnectionPool::Loan> loan = pool_->Acquire(kAcquireTimeout);
  if (!loan.ok()) return {Outcome::kLost, loan.status()};
  Connection& connection = **loan;
  bool committing = false;
  const absl::Duration began = TheSteadyClock()->Now();
  return Guard(connection, committing, [&]() -> Attempt {
    Transaction tx(connection, &options_.fault, purpose);
    if (!in_transaction) tx.begun_ = true;
    absl::Status status = body(tx);
    if (!in_transaction)
      return {status.ok() ? Outcome::kDone : Outcome::kFailed, std::move(status)};
    if (!status.ok()) {
      tx.RollBack();
      return {Outcome::kFailed, std::move(status)};
    }
    committing = tx.Changes();
    const bool matters = tx.Matters();
    connection.TakeWarning();
    const absl::Duration commits = TheSteadyClock()->Now();
    const absl::Cleanup answered = [&] { committing = committing && !tx.WasRefused(); };
    tx.Commit();
    return Committed(connection, matters, committing, began, commits);
  });
}

struct TransactionRunner::Sent::Parts {
  // What came of sending it; kDone: it is on its way.
  Attempt attempt = {};
  std::string purpose = {};
  std::optional<ConnectionPool::Loan> loan = {};
  std::optional<Transaction> tx = {};  // on the loan
  bool committing = false;             // what became of it must be known
  SessionId session = {};              // that has it
  absl::Duration began = TheSteadyClock()->Now();
  absl::Duration commits = {};
};

TransactionRunner::Sent::Sent(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
TransactionRunner::Sent::Sent(Sent&&) noexcept = default;
TransactionRunner::Sent& TransactionRunner::Sent::operator=(Sent&&) noexcept = default;
TransactionRunner::Sent::~Sent() {
  if (parts_ != nullptr && parts_->loan) (*parts_->loan)->MarkBroken();
}

AwaitedSocket TransactionRunner::Sent::socket() const {
  const bool waits = parts_->attempt.outcome == Outcome::kDone && parts_->tx->Matters();
  if (!waits) return {};
  return {.fd = (*parts_->loan)->raw().sock(), .unsent = parts_->tx->queued_.unsent()};
}

void TransactionRunner::Sent::SendMore() {
  const AwaitedSocket to = socket();
  if (to.unsent && EventsOf(to).writable) parts_->tx->queued_.SendMore();
}

TransactionRunner::Sent TransactionRunner::Send(const TransactionBody& body,
                                                absl::string_view purpose) {
  auto parts = std::make_unique<Sent::Parts>();
  parts->purpose = std::string(purpose);
  absl::StatusOr<ConnectionPool::Loan> loan = pool_->Acquire(kAcquireTimeout);
  if (!loan.ok()) {
    parts->attempt = {Outcome::kLost, loan.status()};
    return Sent(std::move(parts));
  }
  Connection& connection = *parts->loan.emplace(*std::move(loan));
  parts->attempt = Guard(connection, parts->committing, [&]() -> Attempt {
    Transaction& tx = parts->tx.emplace(connection, &options_.fault, parts->purpose);
    absl::Cleanup unsent = [&] { parts->tx.reset(); };
    absl::Status status = body(tx);
    if (!status.ok()) {
      tx.RollBack();
      return {Outcome::kFailed, std::move(status)};
    }
    connection.TakeWarning();
    parts->commits = TheSteadyClock()->Now();
    parts->committing = tx.Changes();
    parts->session = {connection.raw().backendpid(), connection.server_start()};
    tx.SendCommit();
    std::move(unsent).Cancel();
    return {};
  });
  return Sent(std::move(parts));
}

absl::Status TransactionRunner::Finish(Sent sent, const OutcomeResolver& resolve, bool& again) {
  std::unique_ptr<Sent::Parts> parts = std::move(sent.parts_);
  const absl::Duration began = parts->began;
  again = false;
  Attempt result = std::move(parts->attempt);
  if (result.outcome == Outcome::kDone) {
    Connection& connection = **parts->loan;
    result = Guard(connection, parts->committing, [&] {
      const absl::Cleanup ended = [&] {
        parts->committing = parts->committing && !parts->tx->WasRefused();
        parts->tx.reset();
      };
      const bool matters = parts->tx->Matters();
      parts->tx->FinishCommit();
      return Committed(connection, matters, parts->committing, parts->began, parts->commits);
    });
  }
  const SessionId session = parts->session;
  parts.reset();  // its connection serves whoever settles
  if (result.outcome == Outcome::kInDoubt) {
    result = SettleDoubt(std::move(result), [&](Transaction& tx) -> absl::StatusOr<bool> {
      RETURN_IF_ERROR(EndSession(tx, session));
      return resolve(tx);
    });
  }
  if (result.outcome == Outcome::kDone || result.outcome == Outcome::kFailed) return result.status;
  CountRetry(result);
  again = !aborted_ && options_.max_attempts > 1 &&
          TheSteadyClock()->Now() < began + options_.retry_budget;
  return result.status;
}

TransactionRunner::Attempt TransactionRunner::Committed(Connection& connection, bool mattered,
                                                        bool committing, absl::Duration began,
                                                        absl::Duration commits) {
  if (!mattered) return {};
  // A COMMIT that is cancelled while it waits for its synchronous standby says OK all the same: it
  // is done here, and may be lost with this server.
  const std::string warning = connection.TakeWarning();
  if (!warning.empty()) return Lost(connection, committing, warning);
  if (observer() != nullptr)
    observer()->Committed(TheSteadyClock()->Now() - began, TheSteadyClock()->Now() - commits);
  return {};
}

TransactionRunner::Attempt TransactionRunner::Guard(Connection& connection, const bool& committing,
                                                    const std::function<Attempt()>& step) {
  // The order of the handlers matters: the first three do not derive from sql_error.
  try {
    return step();
  } catch (const pqxx::in_doubt_error& e) {
    return Lost(connection, true, e.what());
  } catch (const pqxx::statement_completion_unknown& e) {
    return Lost(connection, true, e.what());
  } catch (const pqxx::transaction_rollback& e) {
    connection.MarkBroken();
    return {Outcome::kConflict,
            error::WithCause(absl::AbortedError("Lost a race in the database."), e.what()),
            SqlStateOf(e)};
  } catch (const pqxx::broken_connection& e) {
    return Lost(connection, committing, e.what());
  } catch (const pqxx::insufficient_resources& e) {
    return Lost(connection, committing, e.what(), SqlStateOf(e));
  } catch (const pqxx::sql_error& e) {
    return Refused(connection, committing, e.what(), e.sqlstate());
  } catch (const std::exception& e) {
    return Lost(connection, committing, e.what());
  }
}

TransactionRunner::Attempt TransactionRunner::Lost(Connection& connection, bool committing,
                                                   absl::string_view what,
                                                   absl::string_view sqlstate) {
  connection.MarkBroken();
  if (!LacksMeans(sqlstate)) pool_->ConnectionLost();
  if (committing) return {Outcome::kInDoubt, InDoubt(what), std::string(sqlstate)};
  return {Outcome::kLost, error::WithCause(DatabaseAway(), what), std::string(sqlstate)};
}

TransactionRunner::Attempt TransactionRunner::Refused(Connection& connection, bool committing,
                                                      absl::string_view what,
                                                      absl::string_view sqlstate) {
  // A timeout may be another's than the server's: whether what was sent had its effect is to be
  // asked.
  if (IsAway(sqlstate) || (sqlstate == kCancelled && committing))
    return Lost(connection, committing, what, sqlstate);
  if (sqlstate == kHeadIsElsewhere) {
    EndFailed(connection);
    return {Outcome::kFailed, absl::FailedPreconditionError("The head is elsewhere.")};
  }
  if (sqlstate == kLockTimeout) {
    EndFailed(connection);
    return {Outcome::kFailed, TookTooLong(absl::StrCat(sqlstate, ": ", what))};
  }
  // A failed statement has rolled the transaction back on the server, even a COMMIT's (deferred
  // constraints).
  connection.MarkBroken();
  if (sqlstate == kCancelled) return {Outcome::kFailed, TookTooLong(what)};
  return {Outcome::kFailed,
          error::WithCause(absl::InternalError("The database refused a statement."),
                           absl::StrCat(sqlstate, sqlstate.empty() ? "" : ": ", what))};
}

TransactionRunner::Attempt TransactionRunner::SettleDoubt(Attempt in_doubt,
                                                          const OutcomeResolver& resolve) {
  ++in_doubt_;
  if (!resolve) return {Outcome::kFailed, std::move(in_doubt.status)};
  const absl::StatusOr<bool> committed = ResolveOutcome(resolve);
  if (!committed.ok()) return {Outcome::kFailed, committed.status()};
  if (*committed) return {};
  return {Outcome::kLost,
          error::WithCause(error::Unavailable("The database went away; nothing was committed."),
                           error::CauseOf(in_doubt.status)),
          std::move(in_doubt.sqlstate)};
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
