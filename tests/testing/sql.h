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

// A statement that loses its session while it runs, as if the server had died.
inline constexpr char kLoseConnection[] =
    "DO $$BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(60); END$$;";

struct EndSession {
  void operator()(pg_conn* connection) const;
};
using Session = std::unique_ptr<pg_conn, EndSession>;

// Runs statements as RunSql does, but keeps the session and resets it (DISCARD ALL) for the next
// call: a new session costs Postgres more than most statements do. Thread-safe: a call that finds
// the session in use opens one of its own.
class KeptSession {
 public:
  explicit KeptSession(std::string conninfo) : conninfo_(std::move(conninfo)) {}

  SqlRows Run(const std::string& sql);
  // Closes the kept session; the next Run opens a new one.
  void Close();

 private:
  // The kept session, for one caller; null: there is none, or its server has ended it.
  Session Take();
  void Keep(Session session);

  const std::string conninfo_;
  std::mutex mutex_;
  Session idle_ = {};
};

// Ends the other sessions of `session`'s database for which `condition` on pg_stat_activity holds.
// Returns their number once they are gone; throws if they stay for kPatience.
int EndOtherSessions(KeptSession& session, const std::string& condition = "true");

// A transaction that stays open, with the locks that it took, until the pointer is reset or
// destroyed, which rolls it back.
using OpenTransaction = Session;

// Begins such a transaction and runs `sql` in it. Throws SqlError.
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
