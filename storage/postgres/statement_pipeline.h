#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "storage/postgres/connection.h"
#include "storage/postgres/sql_types.h"
#include "storage/postgres/statement_list.h"

struct pg_result;

namespace muster::storage {

// Statements that travel together, by libpq's pipeline: one round trip, whatever their number, and
// values in binary form, neither of which libpqxx 6.4 can do. What they return is not seen. Where
// one fails, those behind it are not done.
class StatementPipeline {
 public:
  // `connection` must outlive this.
  explicit StatementPipeline(Connection& connection) : connection_(connection) {}

  bool empty() const { return steps_.empty(); }
  // Whether Send was called and Finish was not.
  bool sent() const { return sent_; }

  // SQL without parameters: statements that end in `;`, one a line.
  void Add(absl::string_view lines);
  // Whether `statement` is to be prepared before it is added: it was not on this connection, nor is
  // it by this pipeline.
  bool NeedsPrepare(const Statement& statement) const;
  void Prepare(const Statement& statement);
  // A statement that was, or is to be, prepared.
  void Add(const Statement& statement, std::vector<SqlParam> params);
  // COMMIT. What the server warned of before it (Connection::TakeWarning) is dropped: of all
  // warnings only those of COMMIT itself cast doubt on it.
  void AddCommit();
  void Clear() { steps_.clear(); }

  // Sends as much as goes without waiting; the rest is kept, for SendMore and Finish. Throws
  // pqxx::broken_connection.
  void Send();
  // Whether there is a rest, and: sends as much of it as goes without waiting. Finish reports
  // failures.
  bool unsent() const { return unsent_; }
  void SendMore();
  // Sends the rest and waits for the answers. Throws what the first statement that failed met, as
  // libpqxx would.
  void Finish();
  // After Finish threw: whether the server said that it refused a statement, COMMIT at the latest.
  // Then nothing was committed, whatever the reason. Not if it ended the session over it, nor if
  // it says that it was cancelled: a timeout may be another's than the server's.
  bool refused() const { return refused_; }

 private:
  struct Step {
    const char* prepares = nullptr;   // a statement's name
    const char* statement = nullptr;  // likewise; null: `sql` is run as it is
    std::string sql = {};
    std::vector<SqlParam> params = {};
  };

  void SendStep(const Step& step);
  // Takes an answer to steps_[at]; throws nothing.
  void Take(const pg_result* result, size_t at);
  [[noreturn]] void Throw() const;

  Connection& connection_;
  std::vector<Step> steps_;
  size_t commit_ = 0;  // the place of COMMIT among them; 0: there is none
  bool sent_ = false;
  bool unsent_ = false;
  bool failed_ = false;
  bool refused_ = false;
  std::string sqlstate_;  // of what failed
  std::string message_;
};

}  // namespace muster::storage
