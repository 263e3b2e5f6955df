#pragma once

// Includes libpqxx: for storage/ only.
#include <pqxx/pqxx>
#include <set>
#include <string>

#include "storage/postgres/connection_pool.h"

namespace muster::storage {

// One connection, and which statements were prepared on it. Not thread-safe.
class Connection {
 public:
  // Throws pqxx::broken_connection.
  explicit Connection(const std::string& conninfo) : raw_(conninfo) {
// Deprecated, and the only way to stop libpqxx from reconnecting behind our back.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    raw_.inhibit_reactivation(true);
#pragma GCC diagnostic pop
    pqxx::nontransaction(raw_).exec("SET TimeZone = 'UTC'");
  }

  pqxx::connection& raw() { return raw_; }
  // True the first time it is asked for `name`.
  bool FirstUse(const std::string& name) { return prepared_.insert(name).second; }
  // The same for statements that are sent as SQL's EXECUTE: libpqxx prepares them on the server
  // only when told to.
  bool FirstQueued(const std::string& name) { return queued_.insert(name).second; }
  // The connection must not be used again.
  void MarkBroken() { broken_ = true; }
  bool broken() const { return broken_; }

 private:
  pqxx::connection raw_;
  std::set<std::string> prepared_;
  std::set<std::string> queued_;
  bool broken_ = false;
};

}  // namespace muster::storage
