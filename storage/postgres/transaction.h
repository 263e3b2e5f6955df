#pragma once

// Includes libpqxx: for storage/ only.
#include <string>

#include "absl/strings/string_view.h"
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
    if (begun_) return raw_.exec(sql);
    begun_ = true;
    return raw_.exec("BEGIN; " + sql);
  }

  // Runs a prepared statement. Values as text (see sql_types.h), integers, or std::optional of
  // these.
  template <class... Args>
  pqxx::result Exec(const Statement& statement, const Args&... args) {
    Begin();
    if (connection_.FirstUse(statement.name))
      connection_.raw().prepare(statement.name, statement.sql);
    return raw_.exec_prepared(statement.name, args...);
  }

  // Says BEGIN with another isolation level; must be the first.
  void BeginRepeatableRead() {
    begun_ = true;
    raw_.exec("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  }

 private:
  friend class TransactionRunner;

  void Begin() {
    if (!begun_) raw_.exec("BEGIN");
    begun_ = true;
  }
  void Finish(const char* verb) {
    if (begun_) raw_.exec(verb);
    begun_ = false;
  }

  Connection& connection_;
  pqxx::nontransaction raw_;
  bool begun_ = false;
};

}  // namespace muster::storage
