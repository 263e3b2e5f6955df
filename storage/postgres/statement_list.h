#pragma once

#include <utility>
#include <vector>

#include "storage/postgres/sql_types.h"

namespace muster::storage {

// A statement that is prepared once a connection. Its texts must outlive the connection.
struct Statement {
  const char* name;
  const char* sql;
};

// Takes statements whose results nobody needs, in order: a transaction, or a list.
class StatementSink {
 public:
  virtual ~StatementSink() = default;
  virtual void Queue(const Statement& statement, std::vector<SqlParam> params) = 0;
};

// Statements for a transaction, made before it begins.
class StatementList final : public StatementSink {
 public:
  void Queue(const Statement& statement, std::vector<SqlParam> params) override {
    statements_.emplace_back(statement, std::move(params));
  }
  // Of all parameters together.
  size_t bytes() const {
    size_t sum = 0;
    for (const auto& [statement, params] : statements_) {
      for (const SqlParam& param : params) sum += param.bytes.size();
    }
    return sum;
  }
  // Hands all of them on; none is left.
  void MoveTo(StatementSink& out) {
    for (auto& [statement, params] : std::exchange(statements_, {}))
      out.Queue(statement, std::move(params));
  }

 private:
  std::vector<std::pair<Statement, std::vector<SqlParam>>> statements_;
};

}  // namespace muster::storage
