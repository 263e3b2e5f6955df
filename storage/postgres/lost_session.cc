#include "storage/postgres/lost_session.h"

#include "storage/postgres/transaction.h"

namespace muster::storage {
namespace {

constexpr Statement kEndSession = {
    "session_end",
    "SELECT pg_terminate_backend(pid, 250) FROM pg_stat_activity"
    " WHERE pid = $1 AND datname = current_database() AND usename = session_user"
    " AND pid <> pg_backend_pid() AND pg_postmaster_start_time()::text = $2"};

}  // namespace

absl::Status EndSession(Transaction& tx, const SessionId& session) {
  for (const auto& row : tx.ExecAsLogin(kEndSession, session.process, session.server_start)) {
    if (!row[0].as<bool>())
      return absl::DeadlineExceededError("The lost session has not ended yet.");
  }
  return absl::OkStatus();
}

}  // namespace muster::storage
