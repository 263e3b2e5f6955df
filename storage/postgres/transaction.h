#pragma once

// Includes libpqxx: for storage/ only.
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/postgres/connection.h"

namespace muster::storage {

// A statement that is prepared once a connection. Constants only.
struct Statement {
  const char* name;
  const char* sql;
};

// A transaction in progress. Made by the runner; throws what libpqxx throws, the runner catches it.
// BEGIN travels with the first statement, so that a transaction is few round trips.
class Transaction {
 public:
  explicit Transaction(Connection& connection) : connection_(connection), raw_(connection.raw()) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // Runs SQL without parameters. As the first of a transaction it carries BEGIN along.
  pqxx::result Exec(const std::string& sql) {
    const std::string all =
        absl::StrCat(begun_ ? "" : "BEGIN; ", std::exchange(queued_, std::string()), sql);
    begun_ = true;
    return raw_.exec(all);
  }

  // Runs a prepared statement. Values as text (see sql_types.h), integers, or std::optional of
  // these.
  template <class... Args>
  pqxx::result Exec(const Statement& statement, const Args&... args) {
    Flush();
    if (connection_.FirstUse(statement.name))
      connection_.raw().prepare(statement.name, statement.sql);
    return raw_.exec_prepared(statement.name, args...);
  }

  // The same, sent with the next statement, which may be COMMIT: several writes are one round trip.
  // What it returns is not seen; an error is thrown by what it travels with.
  template <class... Args>
  void Queue(const Statement& statement, const Args&... args) {
    if (connection_.FirstUse(statement.name))
      connection_.raw().prepare(statement.name, statement.sql);
    if (connection_.FirstQueued(statement.name)) connection_.raw().prepare_now(statement.name);
    std::string values;
    ((absl::StrAppend(&values, values.empty() ? "" : ", ", Quote(args))), ...);
    absl::StrAppend(&queued_, "EXECUTE ", statement.name, "(", values, "); ");
  }

  // Says BEGIN with another isolation level; must be the first.
  void BeginRepeatableRead() {
    begun_ = true;
    raw_.exec("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  }

 private:
  friend class TransactionRunner;

  std::string Quote(const std::string& text) const {
    return absl::StrCat("'", raw_.esc(text), "'");
  }
  std::string Quote(int64_t number) const { return absl::StrCat(number); }

  // Sends what is queued, and BEGIN if that was not said yet.
  void Flush() {
    if (begun_ && queued_.empty()) return;
    const std::string all =
        absl::StrCat(begun_ ? "" : "BEGIN; ", std::exchange(queued_, std::string()));
    begun_ = true;
    raw_.exec(all);
  }
  void Commit() {
    if (begun_ || !queued_.empty()) Exec("COMMIT");
    begun_ = false;
  }
  void RollBack() {
    queued_.clear();
    if (begun_) raw_.exec("ROLLBACK");
    begun_ = false;
  }

  Connection& connection_;
  pqxx::nontransaction raw_;
  bool begun_ = false;
  std::string queued_;
};

}  // namespace muster::storage
