#pragma once

// Includes libpqxx: for storage/ only.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "storage/postgres/connection.h"
#include "storage/postgres/fault.h"
#include "storage/postgres/statement_list.h"
#include "storage/postgres/statement_pipeline.h"

namespace muster::storage {

// A transaction in progress. Made by the runner; throws what libpqxx throws, the runner catches it.
// BEGIN travels with the first statement, and writes with COMMIT, so that a transaction is few
// round trips.
class Transaction final : public StatementSink {
 public:
  // `fault`, which may be null, is told of every call with `purpose`; both must outlive this.
  explicit Transaction(Connection& connection, const FaultHook* fault = nullptr,
                       absl::string_view purpose = "")
      : connection_(connection),
        raw_(connection.raw()),
        queued_(connection),
        fault_(fault),
        purpose_(purpose) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // Runs SQL without parameters. As the first of a transaction it carries BEGIN along.
  pqxx::result Exec(const std::string& sql) { return ExecAt(sql, sql); }
  // The same under a name for FaultHook, where the text is not always the same.
  pqxx::result ExecAs(absl::string_view name, const std::string& sql) { return ExecAt(name, sql); }

  // Runs a prepared statement. Values as text (see sql_types.h), integers, or std::optional of
  // these.
  template <class... Args>
  pqxx::result Exec(const Statement& statement, const Args&... args) {
    const Fault fault = FaultAt(statement.name);
    Flush();
    const Connection::Question question(connection_);
    if (!fault.before.empty()) raw_.exec(fault.before);
    if (connection_.FirstUse(statement.name))
      connection_.raw().prepare(statement.name, statement.sql);
    pqxx::result result = raw_.exec_prepared(statement.name, args...);
    if (!fault.after.empty()) raw_.exec(fault.after);
    return result;
  }

  // The same, sent with COMMIT or before the next statement that is not queued: several writes are
  // one round trip. Its result is not seen; its error is thrown by the call that it travels with.
  void Queue(const Statement& statement, std::vector<SqlParam> params) override {
    if (!begun_ && queued_.empty()) queued_.Add("BEGIN;");
    if (queued_.NeedsPrepare(statement)) {
      const Fault fault = FaultAt(absl::StrCat("prepare ", statement.name));
      queued_.Add(fault.before);
      queued_.Prepare(statement);
      queued_.Add(fault.after);
    }
    const Fault fault = FaultAt(statement.name);
    queued_.Add(fault.before);
    queued_.Add(statement, std::move(params));
    queued_.Add(fault.after);
  }

  // Runs a prepared statement as who logged in: the role that a session of ours takes instead
  // (ALTER ROLE ... SET role) may neither see what other sessions wait for nor end them.
  template <class... Args>
  pqxx::result ExecAsLogin(const Statement& statement, const Args&... args) {
    Exec("SET ROLE NONE");
    pqxx::result result = Exec(statement, args...);
    Exec("RESET ROLE");
    return result;
  }

  // Declares that this transaction locks rows at most: if COMMIT's outcome is lost, nothing is in
  // doubt.
  void ChangesNothing() { changes_nothing_ = true; }

  // Says BEGIN with another isolation level; must be the first.
  void BeginRepeatableRead() {
    begun_ = read_only_ = true;
    ExecAt("begin", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  }

 private:
  friend class TransactionRunner;

  Fault FaultAt(absl::string_view statement) const {
    if (fault_ == nullptr || !*fault_) return {};
    return (*fault_)(absl::StrCat(purpose_, "/", statement));
  }

  pqxx::result ExecAt(absl::string_view statement, const std::string& sql) {
    const Fault fault = FaultAt(statement);
    if (!queued_.empty()) Flush();
    const std::string all = absl::StrCat(begun_ ? "" : "BEGIN; ", fault.before, sql,
                                         fault.after.empty() ? "" : "; ", fault.after);
    begun_ = true;
    const Connection::Question question(connection_);
    return raw_.exec(all);
  }

  // Whether the end of this transaction matters to anybody.
  bool Matters() const { return !read_only_ && (begun_ || !queued_.empty()); }
  // Whether it must be known what became of it.
  bool Changes() const { return Matters() && !changes_nothing_; }
  // Whether the server said that it refused what was sent with COMMIT, or COMMIT itself.
  bool WasRefused() const { return queued_.refused(); }

  // Sends what is queued, and BEGIN if that was not said yet, and waits for the answers.
  void Flush() {
    const Connection::Question question(connection_);
    if (queued_.empty()) {
      if (!begun_) raw_.exec("BEGIN");
    } else {
      queued_.Send();
    }
    begun_ = true;
    if (queued_.sent()) queued_.Finish();
  }

  // Sends what is queued and COMMIT, and does not wait: FinishCommit does. What can't be sent
  // together is done at once.
  void SendCommit() {
    if (queued_.empty()) {
      if (begun_) ExecAt("commit", "COMMIT");
      return;
    }
    const Fault fault = FaultAt("commit");
    queued_.Add(fault.before);
    queued_.AddCommit();
    queued_.Add(fault.after);
    connection_.Asks();
    queued_.Send();
  }
  void FinishCommit() {
    const absl::Cleanup heard = [this] { connection_.Heard(); };
    if (queued_.sent()) queued_.Finish();
    begun_ = false;
  }
  void Commit() {
    SendCommit();
    FinishCommit();
  }
  void RollBack() {
    queued_.Clear();
    if (begun_) ExecAt("rollback", "ROLLBACK");
    begun_ = false;
  }

  Connection& connection_;
  pqxx::nontransaction raw_;
  StatementPipeline queued_;
  const FaultHook* const fault_;
  const absl::string_view purpose_;
  bool begun_ = false;
  bool read_only_ = false;
  bool changes_nothing_ = false;
};

}  // namespace muster::storage
