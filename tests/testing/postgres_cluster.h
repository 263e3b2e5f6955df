#pragma once

#include <memory>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::testing {

// A private Postgres server that listens on a unix socket only. What fails throws
// std::runtime_error, which fails the test.
class PostgresCluster {
 public:
  // The cluster that all tests of this ctest run share (folder: MUSTER_TEST_POSTGRES). Run by hand
  // without one, the process starts a cluster for itself and stops it when it ends. Never stop or
  // alter this one: others are using it.
  static const PostgresCluster& Shared();

  // A cluster of the test's own, for outages. Stopped and deleted by the destructor (or when the
  // process dies).
  static std::unique_ptr<PostgresCluster> StartOwn();

  bool is_shared() const { return is_shared_; }

  ~PostgresCluster();
  PostgresCluster(const PostgresCluster&) = delete;
  PostgresCluster& operator=(const PostgresCluster&) = delete;

  // How to connect: "host=... user=... dbname=...". An empty user is left out, so that a server can
  // add its own.
  std::string ConnInfo(absl::string_view database = "postgres",
                       absl::string_view user = "postgres") const;

  enum class StopMode {
    kFast,       // sessions are ended, everything is written out
    kImmediate,  // as in a crash: recovery at the next start
  };
  // Own clusters only: an outage begins and ends. Both return when it has happened.
  void Stop(StopMode mode);
  void Start();

  // Own clusters only: a base backup, from which RestoreTo goes on once.
  void BackUp();
  // A point-in-time restore: back to a moment since the backup that was named by pg_create_restore_point(`point`), as after a crash;
  // what is younger is lost. Small letters, digits and `_`.
  void RestoreTo(const std::string& point);

 private:
  // `dir`: what tests/postgres/start was or is given. `own_dir`: created for this cluster, deleted
  // with it.
  PostgresCluster(std::string dir, bool own_dir, bool is_shared);

  const std::string dir_;
  const bool own_dir_;
  const bool is_shared_;
  std::string socket_dir_ = {};
};

}  // namespace muster::testing
