#pragma once

#include <memory>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::testing {

// A private Postgres server that listens on a unix socket only. Every function throws
// std::runtime_error when it fails, which fails the test.
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
  // Own clusters only: begin and end an outage. Both return when the server is down, or up.
  void Stop(StopMode mode);
  void Start();

  // Own clusters only: makes a base backup, which serves one RestoreTo.
  void BackUp();
  // A point-in-time restore: back to a moment since the backup that was named by
  // pg_create_restore_point(`point`), as after a crash; what is younger is lost. Small letters,
  // digits and `_`.
  void RestoreTo(const std::string& point);

 private:
  // `dir`: the argument of tests/postgres/start. `own_dir`: `dir` was created for this cluster,
  // which is started here, and stopped and deleted by the destructor; else it runs already.
  PostgresCluster(std::string dir, bool own_dir, bool is_shared);

  const std::string dir_;
  const bool own_dir_;
  const bool is_shared_;
  std::string socket_dir_ = {};
};

}  // namespace muster::testing
