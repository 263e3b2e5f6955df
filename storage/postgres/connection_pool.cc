#include "storage/postgres/connection_pool.h"

#include <libpq-fe.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "services/common/cause.h"
#include "services/common/deadline.h"
#include "services/common/error.h"
#include "storage/postgres/connection.h"

namespace muster::storage {

std::string EffectiveConninfo(const ConnectOptions& options) {
  const std::string conninfo =
      options.current_conninfo ? options.current_conninfo() : options.conninfo;
  return absl::StrCat(
      options.writable_host->FirstIn(conninfo), " application_name=", options.application_name, "-",
      options.schema,
      // A host that is gone without a word is noticed in seconds, also when it had taken the
      // request.
      " client_encoding=UTF8 target_session_attrs=read-write tcp_user_timeout=5000 "
      "keepalives_idle=5 keepalives_interval=2 connect_timeout=",
      absl::ToInt64Seconds(options.connect_timeout), " options='-c search_path=", options.schema,
      // What values look like as text is said here, whatever the server or the role prefers.
      " -c datestyle=ISO -c timezone=UTC -c bytea_output=hex -c standard_conforming_strings=on",
      // So is what we rely on: whoever has waited for the head sees what was committed meanwhile
      // (journal::Lock), and what is acknowledged is on disk, at the standby if there is one.
      " -c default_transaction_isolation=read\\\\ committed -c synchronous_commit=on",
      // Rows that a policy of the operator's hides are not taken for none: the statement fails.
      " -c row_security=off", " -c client_min_messages=warning -c statement_timeout=",
      absl::ToInt64Milliseconds(options.statement_timeout),
      // Shorter, so that a wait in vain for a lock is told as such: then nothing was committed.
      " -c lock_timeout=", absl::ToInt64Milliseconds(options.statement_timeout * 0.9),
      " -c idle_in_transaction_session_timeout=",
      absl::ToInt64Milliseconds(options.idle_in_transaction_timeout),
      // A table that has no index to go by is read all the same, at a cost that nothing is worth:
      // a plan of that cost would be compiled each time, for 50 ms.
      options.plans_freely ? "" : " -c enable_seqscan=off -c jit=off",
      // So that the server notices by itself that our host is gone in the midst of a batch.
      " -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3'");
}

namespace {

// libpq hands on PGTZ and PGDATESTYLE of the environment, which count before what EffectiveConninfo
// says: times would be read as others, or not at all.
void CheckTimesAreOurs(PGconn* connection) {
  const auto is = [&](const char* name) {
    const char* const value = PQparameterStatus(connection, name);
    return absl::string_view(value == nullptr ? "" : value);
  };
  if (is("TimeZone") == "UTC" && absl::StartsWith(is("DateStyle"), "ISO")) return;
  throw pqxx::broken_connection(absl::StrCat("the session has TimeZone ", is("TimeZone"),
                                             " and DateStyle ", is("DateStyle"),
                                             ": unset PGTZ and PGDATESTYLE in the environment"));
}

}  // namespace

ConnectionPool::ConnectionPool(ConnectOptions options, int size)
    : options_(std::move(options)),
      size_(size),
      watchdog_(options_.statement_timeout + options_.answer_grace) {}
ConnectionPool::~ConnectionPool() { DropIdle(); }

ConnectionPool::Loan::Loan(ConnectionPool* pool, std::unique_ptr<Connection> connection)
    : pool_(pool), connection_(std::move(connection)) {}
ConnectionPool::Loan::Loan(Loan&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)), connection_(std::move(other.connection_)) {}
ConnectionPool::Loan::~Loan() {
  if (pool_ != nullptr) pool_->Return(std::move(connection_));
}

absl::StatusOr<ConnectionPool::Loan> ConnectionPool::Acquire(absl::Duration most) {
  std::vector<std::unique_ptr<Connection>> ended;  // closed when the lock is free
  std::unique_ptr<Connection> kept;
  {
    MutexLock lock(mutex_);
    const Deadline deadline(most);
    while (lent_ >= size_) {
      if (!deadline.WaitFor(free_, mutex_))
        return absl::DeadlineExceededError("No database connection came free in time.");
    }
    ++lent_;
    const size_t idle = idle_.size();
    while (kept == nullptr && !idle_.empty()) {
      std::unique_ptr<Connection>& last = idle_.back();
      const bool gone = last->HasNews() || !IsTrusted(*last);
      (gone ? ended.emplace_back() : kept) = std::move(last);
      idle_.pop_back();
    }
    Tell(1, static_cast<int>(idle_.size()) - static_cast<int>(idle));
  }
  if (kept != nullptr) return Loan(this, std::move(kept));
  try {
    return Loan(this, Connect());
  } catch (const std::exception& e) {
    Return(nullptr);
    if (options_.observer != nullptr) options_.observer->ConnectionRefused();
    return error::WithCause(error::Unavailable("The database does not take connections."),
                            e.what());
  }
}

bool ConnectionPool::IsAtHand() {
  MutexLock lock(mutex_);
  if (lent_ >= size_) return false;
  return std::any_of(idle_.begin(), idle_.end(), [this](const auto& connection) {
    return !connection->HasNews() && IsTrusted(*connection);
  });
}

bool ConnectionPool::IsTrusted(const Connection& connection) const {
  return connection.losses() == options_.writable_host->losses();
}

std::unique_ptr<Connection> ConnectionPool::Connect() {
  const int64_t losses = options_.writable_host->losses();
  auto connection = std::make_unique<Connection>(EffectiveConninfo(options_), &watchdog_, losses);
  const Connection::Question question(*connection);
  // A pooler would lose the session's settings, and a session whose commit is in doubt can be ended
  // only by its true process number.
  const int said = connection->raw().backendpid();
  const pqxx::row session = pqxx::nontransaction(connection->raw())
                                .exec1("SELECT pg_backend_pid(), pg_postmaster_start_time()::text");
  const int is = session[0].as<int>();
  if (said != is) {
    throw pqxx::broken_connection(
        absl::StrCat("the session is said to be process ", said, " and is ", is,
                     ": a pooler such as pgbouncer is in between; connect to PostgreSQL itself"));
  }
  connection->SetServerStart(session[1].c_str());
  CheckTimesAreOurs(connection->libpq());  // which a pooler may not have passed on
  options_.writable_host->Learn({PQhost(connection->libpq()), PQport(connection->libpq())});
  return connection;
}

void ConnectionPool::DropIdle() {
  std::vector<std::unique_ptr<Connection>> dropped;
  MutexLock lock(mutex_);
  dropped.swap(idle_);
  Tell(0, -static_cast<int>(dropped.size()));
}

void ConnectionPool::ConnectionLost() {
  options_.writable_host->Lost();
  DropIdle();
}

void ConnectionPool::Return(std::unique_ptr<Connection> connection) {
  MutexLock lock(mutex_);
  --lent_;
  const bool kept = connection != nullptr && !connection->broken() && IsTrusted(*connection);
  if (kept) idle_.push_back(std::move(connection));
  Tell(-1, kept ? 1 : 0);
  free_.Signal();
}

}  // namespace muster::storage
