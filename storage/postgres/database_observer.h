#pragma once

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::storage {

// Is told what happens between a process and the database of one schema, for figures. Called from
// many threads, beside commits: must be thread-safe, and neither block nor throw.
class DatabaseObserver {
 public:
  virtual ~DatabaseObserver() = default;

  // By how much the number of connections has changed: of those in use (or being opened), and of
  // idle ones.
  virtual void ConnectionsChanged(int in_use, int idle) = 0;
  // Postgres did not take a connection.
  virtual void ConnectionRefused() = 0;
  // A transaction that wrote was committed: how long all of it took, and the COMMIT alone with what
  // was sent along.
  virtual void Committed(absl::Duration transaction, absl::Duration commit) = 0;
  // A transaction failed, and another attempt may help. `sqlstate`: as Postgres says it, or
  // `connection` when nothing came from there.
  virtual void Failed(absl::string_view sqlstate) = 0;
  // By how much the number of commits has changed of which it is not known whether they were done.
  virtual void DoubtChanged(int commits) = 0;
};

}  // namespace muster::storage
