#include "tests/testing/sql.h"

#include <libpq-fe.h>

#include <memory>

namespace muster::testing {
namespace {

using Session = std::unique_ptr<PGconn, EndSession>;

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

OpenTransaction HoldSql(const std::string& conninfo, const std::string& sql) {
  Session session = Connect(conninfo);
  RunOn(session.get(), "BEGIN");
  RunOn(session.get(), sql);
  return session;
}

void EndSession::operator()(pg_conn* connection) const { PQfinish(connection); }

}  // namespace muster::testing
