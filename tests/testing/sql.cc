#include "tests/testing/sql.h"

#include <libpq-fe.h>

#include <memory>

namespace muster::testing {
namespace {

using Connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;

Connection Connect(const std::string& conninfo) {
  Connection connection(PQconnectdb(conninfo.c_str()), &PQfinish);
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

OpenTransaction::OpenTransaction(const std::string& conninfo, const std::string& sql)
    : connection_(Connect(conninfo).release()) {
  RunOn(connection_.get(), "BEGIN");
  RunOn(connection_.get(), sql);
}

OpenTransaction::~OpenTransaction() = default;
OpenTransaction::OpenTransaction(OpenTransaction&&) noexcept = default;
OpenTransaction& OpenTransaction::operator=(OpenTransaction&&) noexcept = default;

void OpenTransaction::End() { connection_ = nullptr; }

void OpenTransaction::Finish::operator()(pg_conn* connection) const { PQfinish(connection); }

}  // namespace muster::testing
