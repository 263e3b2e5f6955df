#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tests/bench/fleet/shape.h"
#include "tests/integration/child.h"
#include "tests/testing/postgres_cluster.h"

namespace muster::bench {

struct StackOptions {
  std::string bin_dir = {};         // with musterd and fleetsim
  std::string migrations_dir = {};  // of the same sources
  double speed = 1;                 // simulated time is so many times as fast
  // For the simulator to register all machines, and for a server to come up.
  absl::Duration patience = absl::Minutes(5);
  std::vector<std::string> musterd_flags = {};  // more of them
  bool statements = false;                      // Postgres keeps count of what each statement costs
};

// A Postgres, a musterd and a fleetsim of our own, ended and deleted with this object. What fails
// throws std::runtime_error.
class Stack {
 public:
  static constexpr std::array<const char*, 4> kServices = {"capacity", "quota", "configuration",
                                                           "lifecycle"};
  // What the simulator says of the time since it was last asked.
  struct SimulatorStats {
    double waited_s = 0;  // for answers to its reports, all calls together
    double lag_p50_ms = 0;
    double lag_p99_ms = 0;
    double lag_max_ms = 0;
    int64_t accepted = 0;
    int64_t refused = 0;
    int64_t lost = 0;
  };
  // What has been used and written since the start.
  struct Sample {
    absl::Time time = absl::InfinitePast();
    double server_cpu_s = 0;
    double postgres_cpu_s = 0;
    double simulator_cpu_s = 0;
    double own_cpu_s = 0;
    double machine_cpu_s = 0;
    std::map<pid_t, double> simulator_threads = {};
    std::array<int64_t, 4> revisions = {};  // of kServices
    int64_t wal_bytes = 0;
    int64_t tuples = 0;   // written, but for the journals and heartbeats
    int64_t scanned = 0;  // read by sequential scans
  };

  explicit Stack(StackOptions options);
  // Leaves the logs in place when an error is on its way.
  ~Stack();
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  // All four services in one process.
  void StartServer();
  // Ends it; then capacity in a process of its own, the others in another one at the same address.
  void StartApart();
  // Kills it as a crash would, and starts it again; returns when it says that it serves.
  void CrashServer();
  void KillCapacity();
  void StartCapacity();
  // Registers the machines of `shape`; returns when they are registered.
  void StartSimulator(const Shape& shape);
  // Lets a share of the healthy Nodes fail, which the simulator was started with; returns their
  // number.
  int64_t FailNodes();

  std::string target() const;
  SimulatorStats TakeSimulatorStats();
  Sample Measure() const;
  // Where Postgres' time went since this was last asked, a line a statement, the costliest first.
  // Only with StackOptions::statements.
  std::string TakeStatements() const;
  // What the database takes on the disk, write-ahead log left out.
  int64_t disk_bytes() const;
  int64_t server_bytes() const;
  int64_t postgres_bytes() const;

 private:
  // What depends on how fast time is.
  std::vector<std::string> LifecycleFlags() const;
  // At Address(name); returns once it takes calls.
  std::unique_ptr<testing::Child> Serve(const std::string& name,
                                        const std::vector<std::string>& flags) const;
  std::string Address(absl::string_view name) const;
  bool IsServing() const;
  // The last line of the simulator's log with this message, once there are more than `before`.
  std::string SimulatorLine(absl::string_view message, size_t before,
                            absl::Duration patience) const;
  size_t SimulatorLines(absl::string_view message) const;
  std::string conninfo() const;

  const StackOptions options_;
  std::string folder_ = {};
  std::unique_ptr<testing::PostgresCluster> postgres_;
  pid_t postmaster_ = -1;
  std::unique_ptr<testing::Child> server_;
  std::unique_ptr<testing::Child> capacity_;
  std::unique_ptr<testing::Child> simulator_;
};

}  // namespace muster::bench
