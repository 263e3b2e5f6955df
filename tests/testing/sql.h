#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

struct pg_conn;

namespace muster::testing {

// What a SELECT gave: rows of fields, nullopt for NULL.
using SqlRows = std::vector<std::vector<std::optional<std::string>>>;

// Runs `sql` (several statements are one transaction) on a connection of its own and returns the
// last one's rows. Throws SqlError, which fails the test that does not expect it.
SqlRows RunSql(const std::string& conninfo, const std::string& sql);

// A statement after which its session is gone, as if the server had died under it.
inline constexpr char kLoseConnection[] =
    "DO $$BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(60); END$$;";

struct EndSession {
  void operator()(pg_conn* connection) const;
};
using Session = std::unique_ptr<pg_conn, EndSession>;

// Runs statements as RunSql does, on a session that is kept for the next one and is as new for it:
// a new one costs Postgres more than most statements do. Thread-safe: who finds it in use has a
// session of its own.
class KeptSession {
 public:
  explicit KeptSession(std::string conninfo) : conninfo_(std::move(conninfo)) {}

  SqlRows Run(const std::string& sql);
  // The next statement is one of a new session.
  void Close();

 private:
  // Null: there is none that is alive.
  Session Take();
  void Keep(Session session);

  const std::string conninfo_;
  std::mutex mutex_;
  Session idle_ = {};
};

// Ends the other sessions of `session`'s database for which `condition` on pg_stat_activity holds.
// Returns how many there were, when they are gone (Until).
int EndOtherSessions(KeptSession& session, const std::string& condition = "true");

// A transaction of somebody's that stays open, with the locks that it took, until its pointer is
// reset or goes: then it is rolled back.
using OpenTransaction = Session;

// Does `sql` in such a transaction. Throws SqlError when it could not.
OpenTransaction HoldSql(const std::string& conninfo, const std::string& sql);

// Thrown by RunSql and HoldSql.
class SqlError : public std::runtime_error {
 public:
  SqlError(const std::string& what, std::string state)
      : std::runtime_error(what), state_(std::move(state)) {}
  // The SQLSTATE, e.g. 42501; empty when there was no connection.
  const std::string& state() const { return state_; }

 private:
  std::string state_ = {};
};

}  // namespace muster::testing
