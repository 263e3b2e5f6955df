#pragma once

#include <string>

#include "absl/status/status.h"

namespace muster::storage {

class Transaction;

// One session of a database server.
struct SessionId {
  int process = 0;           // that serves it, as pg_backend_pid() has it
  std::string server_start;  // Connection::server_start: after a failover the number is another's
};

// Makes sure that the session commits nothing any more: its server process may not even have read
// yet what was sent to it. OK, too, if `tx` is at another server than the session was.
// DEADLINE_EXCEEDED: it has not ended within 250 ms. Throws what libpqxx throws.
absl::Status EndSession(Transaction& tx, const SessionId& session);

}  // namespace muster::storage
