#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "storage/postgres/answer_watchdog.h"
#include "storage/postgres/database_observer.h"
#include "storage/postgres/writable_host.h"

namespace muster::storage {

// How to reach one service's schema.
struct ConnectOptions {
  // libpq conninfo; several hosts are allowed, the one that takes writes is used. Passwords by
  // passfile.
  std::string conninfo = {};
  // Unless null, asked for each new connection instead of `conninfo`, which may have changed. Any
  // thread.
  std::function<std::string()> current_conninfo = {};
  // Remembers which of several hosts took writes, to try that first. Pools whose options are copies
  // share it: once one loses a connection, none of them lends an older one again. Never null.
  std::shared_ptr<WritableHost> writable_host = std::make_shared<WritableHost>();
  // Schema that unqualified names mean.
  std::string schema = {};
  // Shown in pg_stat_activity; the schema is appended.
  std::string application_name = "musterd";
  // Longest that a new connection may take, in whole seconds.
  absl::Duration connect_timeout = absl::Seconds(3);
  // Longest that one statement may take.
  absl::Duration statement_timeout = absl::Seconds(15);
  // How much longer than `statement_timeout` an answer is waited for. A server that does not even
  // report the timeout hangs: the connection is cut, and another asks what became of a commit.
  absl::Duration answer_grace = absl::Seconds(3);
  // A process that freezes while it holds the journal's head loses it after this time: the server
  // ends its session between two statements; in the midst of a batch, whoever waits for the head
  // does (journal::EndStalled).
  absl::Duration idle_in_transaction_timeout = absl::Seconds(5);
  // Whether the planner may read a table whole where there is an index. What it makes of a prepared
  // statement while a table is small, or while little was known of it, stays when the table has
  // grown: statements that look for rows of large tables do without.
  bool plans_freely = false;
  // Null: nobody.
  std::shared_ptr<DatabaseObserver> observer = {};
};

// The conninfo with all of the above in it.
std::string EffectiveConninfo(const ConnectOptions& options);

class Connection;  // connection.h; only storage/ looks inside.

// A bounded set of connections. Thread-safe. A connection that broke is dropped, never used again:
// libpqxx would reconnect behind our back and lose the session's state.
class ConnectionPool {
 public:
  ConnectionPool(ConnectOptions options, int size);
  ~ConnectionPool();
  ConnectionPool(const ConnectionPool&) = delete;
  ConnectionPool& operator=(const ConnectionPool&) = delete;

  // A connection on loan; goes back to the pool when destroyed, unless it broke.
  class Loan {
   public:
    Loan(ConnectionPool* pool, std::unique_ptr<Connection> connection);
    Loan(Loan&& other) noexcept;
    Loan& operator=(Loan&&) = delete;
    ~Loan();
    Connection& operator*() const { return *connection_; }
    Connection* operator->() const { return connection_.get(); }

   private:
    ConnectionPool* pool_;
    std::unique_ptr<Connection> connection_;
  };

  // Waits for a free place at most for `most`. A connection that its server has ended is not
  // lent. DEADLINE_EXCEEDED: none came free; UNAVAILABLE: Postgres did not take the connection.
  absl::StatusOr<Loan> Acquire(absl::Duration most);

  // Whether Acquire would lend one at once, without connecting.
  bool IsAtHand();

  // Closes the connections that nobody has on loan: the next ones are new.
  void DropIdle();
  // One of its connections broke: the others of the process, idle or on loan, are not lent again.
  void ConnectionLost();

  const ConnectOptions& options() const { return options_; }

 private:
  // Throws pqxx::broken_connection.
  std::unique_ptr<Connection> Connect();
  // Whether no connection was lost since this one was made.
  bool IsTrusted(const Connection& connection) const;
  void Return(std::unique_ptr<Connection> connection);
  void Tell(int in_use, int idle) const {
    if (options_.observer != nullptr) options_.observer->ConnectionsChanged(in_use, idle);
  }

  const ConnectOptions options_;
  const int size_;
  AnswerWatchdog watchdog_;
  Mutex mutex_;
  CondVar free_;
  int lent_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<Connection>> idle_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::storage
