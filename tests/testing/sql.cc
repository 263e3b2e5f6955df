#include "tests/testing/sql.h"

#include <libpq-fe.h>
#include <poll.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

Session Connect(const std::string& conninfo) {
  Session connection(PQconnectdb(conninfo.c_str()));
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    throw SqlError(PQerrorMessage(connection.get()), "");
  }
  PQsetNoticeProcessor(
      connection.get(), [](void*, const char*) {}, nullptr);
  return connection;
}

SqlRows RunOn(PGconn* connection, const std::string& sql) {
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection, sql.c_str()),
                                                             &PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    const char* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
    throw SqlError(std::string(PQresultErrorMessage(result.get())) + "in: " + sql,
                   state == nullptr ? "" : state);
  }
  SqlRows rows;
  for (int row = 0; row < PQntuples(result.get()); ++row) {
    auto& fields = rows.emplace_back();
    for (int field = 0; field < PQnfields(result.get()); ++field) {
      if (PQgetisnull(result.get(), row, field)) {
        fields.push_back(std::nullopt);
      } else {
        fields.emplace_back(PQgetvalue(result.get(), row, field));
      }
    }
  }
  return rows;
}

}  // namespace

SqlRows RunSql(const std::string& conninfo, const std::string& sql) {
  return RunOn(Connect(conninfo).get(), sql);
}

SqlRows KeptSession::Run(const std::string& sql) {
  Session session = Take();
  if (session == nullptr) session = Connect(conninfo_);
  SqlRows rows = RunOn(session.get(), sql);
  Keep(std::move(session));
  return rows;
}

Session KeptSession::Take() {
  const std::lock_guard lock(mutex_);
  if (idle_ != nullptr) {
    // Unasked, a server says only that it ends the session.
    pollfd said{.fd = PQsocket(idle_.get()), .events = POLLIN, .revents = 0};
    if (poll(&said, 1, 0) != 0) idle_ = nullptr;
  }
  return std::move(idle_);
}

void KeptSession::Keep(Session session) {
  if (PQtransactionStatus(session.get()) != PQTRANS_IDLE) return;
  RunOn(session.get(), "DISCARD ALL");
  const std::lock_guard lock(mutex_);
  idle_ = std::move(session);
}

void KeptSession::Close() {
  const std::lock_guard lock(mutex_);
  idle_ = nullptr;
}

int EndOtherSessions(KeptSession& session, const std::string& condition) {
  const SqlRows ended = session.Run(
      absl::StrCat("WITH others AS MATERIALIZED (SELECT pid FROM pg_stat_activity"
                   " WHERE datname = current_database() AND pid <> pg_backend_pid() AND (",
                   condition, ")) SELECT pid FROM others WHERE pg_terminate_backend(pid)"));
  const auto left = [&] {
    std::string pids = "0";
    for (const auto& row : ended) absl::StrAppend(&pids, ", ", *row[0]);
    return session.Run(absl::StrCat("SELECT pid FROM pg_stat_activity WHERE pid IN (", pids, ")"));
  };
  // pg_terminate_backend's own wait looks every 100 ms only.
  if (!ended.empty()) Until([&] { return left().empty(); }, "the sessions' end");
  return static_cast<int>(ended.size());
}

OpenTransaction HoldSql(const std::string& conninfo, const std::string& sql) {
  Session session = Connect(conninfo);
  RunOn(session.get(), "BEGIN");
  RunOn(session.get(), sql);
  return session;
}

void EndSession::operator()(pg_conn* connection) const { PQfinish(connection); }

}  // namespace muster::testing
