#pragma once

#include <grpcpp/channel.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "services/common/mutex.h"

// What an attack costs the process that it is made on, and the others who use it meanwhile.
namespace muster::testing {

// Memory and CPU of another process since Begin, from /proc.
class Meter {
 public:
  explicit Meter(pid_t pid) : pid_(pid) { Begin(); }
  void Begin();
  // By how much its resident memory was more than at Begin, at its most.
  int64_t PeakBytes() const;
  absl::Duration Cpu() const;
  // The most that a process ever had; 0: it has ended.
  static int64_t PeakOf(pid_t pid);

 private:
  int64_t Status(const std::string& key) const;
  absl::Duration CpuSoFar() const;

  const pid_t pid_;
  int64_t bytes_ = 0;
  absl::Duration cpu_ = {};
};

// What grpc.health.v1 says of a server, asked ten times a second with a deadline of one second,
// from its making to its end.
class HealthWatch {
 public:
  explicit HealthWatch(std::shared_ptr<grpc::Channel> channel);
  ~HealthWatch();
  int asked() const { return asked_; }
  int serving() const { return serving_; }

 private:
  void Run();

  const std::shared_ptr<grpc::Channel> channel_;
  std::atomic<int> asked_ = 0;
  std::atomic<int> serving_ = 0;
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

// A well-behaved client: a read, then a change, 20 calls a second in all, each with a deadline of
// one second, from its making to its end.
class Neighbour {
 public:
  explicit Neighbour(std::shared_ptr<grpc::Channel> channel);
  ~Neighbour();
  int calls() const { return calls_; }
  int failed() const { return failed_; }
  // How long that share of its calls took at most, those that failed too; 0: it made none.
  absl::Duration Percentile(double share) const;

 private:
  void Run();

  const std::shared_ptr<grpc::Channel> channel_;
  std::atomic<int> calls_ = 0;
  std::atomic<int> failed_ = 0;
  mutable Mutex mutex_;
  std::vector<absl::Duration> took_ MUSTER_GUARDED_BY(mutex_);
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

}  // namespace muster::testing
