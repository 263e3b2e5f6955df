#include "storage/postgres/statement_pipeline.h"

#include <libpq-fe.h>

#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace muster::storage {
namespace {

// libpqxx knows statements by the names that they bear here: ours bear others on the server.
std::string NameOnServer(const char* statement) { return absl::StrCat("pipelined_", statement); }

constexpr absl::string_view kStatementCancelled = "57014";

struct ClearResult {
  void operator()(PGresult* result) const { PQclear(result); }
};

[[noreturn]] void ThrowBroken(PGconn* connection) {
  throw pqxx::broken_connection(PQerrorMessage(connection));
}

}  // namespace

void StatementPipeline::Add(absl::string_view lines) {
  for (const absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipWhitespace()))
    steps_.push_back({.sql = std::string(line)});
}

bool StatementPipeline::NeedsPrepare(const Statement& statement) const {
  if (connection_.IsPipelined(statement.name)) return false;
  for (const Step& step : steps_) {
    if (step.prepares != nullptr && absl::string_view(step.prepares) == statement.name)
      return false;
  }
  return true;
}

void StatementPipeline::Prepare(const Statement& statement) {
  steps_.push_back({.prepares = statement.name, .sql = statement.sql});
}

void StatementPipeline::Add(const Statement& statement, std::vector<SqlParam> params) {
  steps_.push_back({.statement = statement.name, .params = std::move(params)});
}

void StatementPipeline::AddCommit() {
  commit_ = steps_.size();
  Add("COMMIT;");
}

void StatementPipeline::Send() {
  PGconn* const connection = connection_.libpq();
  if (PQenterPipelineMode(connection) == 0) ThrowBroken(connection);
  // A server that works on what it has reads no more than the socket holds: who waits until it has
  // read all does nothing meanwhile.
  if (PQsetnonblocking(connection, 1) != 0) ThrowBroken(connection);
  for (const Step& step : steps_) SendStep(step);
  if (PQpipelineSync(connection) == 0) ThrowBroken(connection);
  sent_ = true;
  SendMore();
}

void StatementPipeline::SendMore() { unsent_ = PQflush(connection_.libpq()) > 0; }

void StatementPipeline::SendStep(const Step& step) {
  PGconn* const connection = connection_.libpq();
  int sent = 0;
  if (step.prepares != nullptr) {
    sent = PQsendPrepare(connection, NameOnServer(step.prepares).c_str(), step.sql.c_str(), 0,
                         nullptr);
  } else if (step.statement == nullptr) {
    sent =
        PQsendQueryParams(connection, step.sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 0);
  } else {
    std::vector<const char*> values;
    std::vector<int> lengths;
    std::vector<int> formats;
    for (const SqlParam& param : step.params) {
      values.push_back(param.bytes.c_str());
      lengths.push_back(static_cast<int>(param.bytes.size()));
      formats.push_back(param.binary ? 1 : 0);
    }
    sent = PQsendQueryPrepared(connection, NameOnServer(step.statement).c_str(),
                               static_cast<int>(values.size()), values.data(), lengths.data(),
                               formats.data(), 0);
  }
  if (sent == 0) ThrowBroken(connection);
}

void StatementPipeline::Finish() {
  PGconn* const connection = connection_.libpq();
  // Each step is answered by results up to a null one, the whole by one more.
  for (size_t at = 0;;) {
    const std::unique_ptr<PGresult, ClearResult> result(PQgetResult(connection));
    if (result == nullptr) {
      if (PQstatus(connection) == CONNECTION_BAD || at > steps_.size()) break;
      ++at;
      continue;
    }
    if (PQresultStatus(result.get()) == PGRES_PIPELINE_SYNC) break;
    Take(result.get(), at);
  }
  sent_ = unsent_ = false;
  steps_.clear();
  commit_ = 0;
  if (!failed_ && PQstatus(connection) == CONNECTION_BAD) ThrowBroken(connection);
  if (PQstatus(connection) != CONNECTION_BAD &&
      (PQexitPipelineMode(connection) == 0 || PQsetnonblocking(connection, 0) != 0))
    ThrowBroken(connection);
  if (failed_) Throw();
}

void StatementPipeline::Take(const pg_result* result, size_t at) {
  switch (PQresultStatus(result)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
      if (at < steps_.size() && steps_[at].prepares != nullptr)
        connection_.SetPipelined(steps_[at].prepares);
      if (at < commit_) connection_.TakeWarning();
      return;
    case PGRES_PIPELINE_ABORTED:
      return;
    default:
      break;
  }
  if (failed_) return;
  failed_ = true;
  const char* const sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  sqlstate_ = sqlstate == nullptr ? "" : sqlstate;
  message_ = PQresultErrorMessage(result);
  const char* const severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  refused_ = at <= commit_ && severity != nullptr && absl::string_view(severity) == "ERROR" &&
             sqlstate_ != kStatementCancelled;
}

void StatementPipeline::Throw() const {
  if (sqlstate_.empty()) throw pqxx::broken_connection(message_);
  if (sqlstate_ == "40001") throw pqxx::serialization_failure(message_);
  if (sqlstate_ == "40P01") throw pqxx::deadlock_detected(message_);
  if (absl::StartsWith(sqlstate_, "40")) throw pqxx::transaction_rollback(message_);
  if (absl::StartsWith(sqlstate_, "53"))
    throw pqxx::insufficient_resources(message_, "", sqlstate_.c_str());
  throw pqxx::sql_error(message_, "", sqlstate_.c_str());
}

}  // namespace muster::storage
