#pragma once

// Includes libpqxx: for storage/ only.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "storage/postgres/connection.h"
#include "storage/postgres/fault.h"

namespace muster::storage {

// A statement that is prepared once a connection. Its texts outlive the connection.
struct Statement {
  const char* name;
  const char* sql;
};

// A transaction in progress. Made by the runner; throws what libpqxx throws, the runner catches it.
// BEGIN travels with the first statement, so that a transaction is few round trips.
class Transaction {
 public:
  // `fault`, which may be null, is told of every call with `purpose`; both must outlive this.
  explicit Transaction(Connection& connection, const FaultHook* fault = nullptr,
                       absl::string_view purpose = "")
      : connection_(connection), raw_(connection.raw()), fault_(fault), purpose_(purpose) {}
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
    absl::StrAppend(&queued_, fault.before);
    Flush();
    if (connection_.FirstUse(statement.name))
      connection_.raw().prepare(statement.name, statement.sql);
    pqxx::result result = raw_.exec_prepared(statement.name, args...);
    if (!fault.after.empty()) raw_.exec(fault.after);
    return result;
  }

  // The same, sent with the next statement, which may be COMMIT: several writes are one round trip.
  // What it returns is not seen; an error is thrown by what it travels with. Large values go at
  // once: reading them as SQL text would cost Postgres more than the round trip.
  template <class... Args>
  void Queue(const Statement& statement, const Args&... args) {
    if ((SizeOf(args) + ...) > kMostQueuedBytes) {
      Exec(statement, args...);
      return;
    }
    std::string values;
    ((absl::StrAppend(&values, values.empty() ? "" : ", ", Quote(args))), ...);
    QueueQuoted(statement, values);
  }
  // The same with as many values as there are.
  void QueueAll(const Statement& statement, const std::vector<std::string>& args) {
    size_t size = 0;
    for (const std::string& arg : args) size += arg.size();
    if (size > kMostQueuedBytes) {
      Exec(statement, pqxx::prepare::make_dynamic_params(args));
      return;
    }
    std::string values;
    for (const std::string& arg : args)
      absl::StrAppend(&values, values.empty() ? "" : ", ", Quote(arg));
    QueueQuoted(statement, values);
  }

  // Says BEGIN with another isolation level; must be the first.
  void BeginRepeatableRead() {
    begun_ = read_only_ = true;
    ExecAt("begin", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  }

 private:
  friend class TransactionRunner;

  static constexpr size_t kMostQueuedBytes = size_t{64} << 10;
  static size_t SizeOf(const std::string& text) { return text.size(); }
  static size_t SizeOf(int64_t) { return sizeof(int64_t); }

  std::string Quote(const std::string& text) const {
    return absl::StrCat("'", raw_.esc(text), "'");
  }
  std::string Quote(int64_t number) const { return absl::StrCat(number); }

  Fault FaultAt(absl::string_view statement) const {
    if (fault_ == nullptr || !*fault_) return {};
    return (*fault_)(absl::StrCat(purpose_, "/", statement));
  }

  void QueueQuoted(const Statement& statement, const std::string& values) {
    if (connection_.FirstUse(statement.name))
      connection_.raw().prepare(statement.name, statement.sql);
    if (connection_.FirstQueued(statement.name)) PrepareNow(statement.name);
    const Fault fault = FaultAt(statement.name);
    absl::StrAppend(&queued_, fault.before, "EXECUTE ", statement.name, "(", values, "); ",
                    fault.after);
  }

  pqxx::result ExecAt(absl::string_view statement, const std::string& sql) {
    const Fault fault = FaultAt(statement);
    const std::string all =
        absl::StrCat(begun_ ? "" : "BEGIN; ", std::exchange(queued_, std::string()), fault.before,
                     sql, fault.after.empty() ? "" : "; ", fault.after);
    begun_ = true;
    return raw_.exec(all);
  }

  void PrepareNow(const std::string& name) {
    const Fault fault = FaultAt(absl::StrCat("prepare ", name));
    if (!fault.before.empty()) raw_.exec(fault.before);
    connection_.raw().prepare_now(name);
    if (!fault.after.empty()) raw_.exec(fault.after);
  }

  // Whether the end of this transaction matters to anybody.
  bool Writes() const { return !read_only_ && (begun_ || !queued_.empty()); }

  // Sends what is queued, and BEGIN if that was not said yet.
  void Flush() {
    if (begun_ && queued_.empty()) return;
    const std::string all =
        absl::StrCat(begun_ ? "" : "BEGIN; ", std::exchange(queued_, std::string()));
    begun_ = true;
    raw_.exec(all);
  }
  void Commit() {
    if (begun_ || !queued_.empty()) ExecAt("commit", "COMMIT");
    begun_ = false;
  }
  void RollBack() {
    queued_.clear();
    if (begun_) ExecAt("rollback", "ROLLBACK");
    begun_ = false;
  }

  Connection& connection_;
  pqxx::nontransaction raw_;
  const FaultHook* const fault_;
  const absl::string_view purpose_;
  bool begun_ = false;
  bool read_only_ = false;
  std::string queued_;
};

}  // namespace muster::storage
