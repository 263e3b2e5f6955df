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

// What an attack costs the process under attack, and the other clients of that process meanwhile.
namespace muster::testing {

// Memory and CPU of another process since Begin, from /proc.
class Meter {
 public:
  explicit Meter(pid_t pid) : pid_(pid) { Begin(); }
  void Begin();
  // Its peak resident memory since Begin, less what it had at Begin.
  int64_t PeakBytes() const;
  absl::Duration Cpu() const;
  // A process' peak resident memory (since a Meter's Begin, if there was one); 0: it has ended.
  static int64_t PeakOf(pid_t pid);

 private:
  int64_t Status(const std::string& key) const;
  absl::Duration CpuSoFar() const;

  const pid_t pid_;
  int64_t bytes_ = 0;
  absl::Duration cpu_ = {};
};

// Asks a server's grpc.health.v1 ten times a second, with a deadline of one second, for as long as
// this object lives.
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

// A well-behaved client: a read, then a change, and so on, 20 calls a second in all, each with this
// deadline, for as long as this object lives.
class Neighbour {
 public:
  explicit Neighbour(std::shared_ptr<grpc::Channel> channel,
                     absl::Duration deadline = absl::Seconds(1));
  ~Neighbour();
  int calls() const { return calls_; }
  int failed() const { return failed_; }
  // Within what time that share of its calls ended, failed ones included; 0: it made none.
  absl::Duration Percentile(double share) const;

 private:
  void Run();

  const std::shared_ptr<grpc::Channel> channel_;
  const absl::Duration deadline_;
  std::atomic<int> calls_ = 0;
  std::atomic<int> failed_ = 0;
  mutable Mutex mutex_;
  std::vector<absl::Duration> took_ MUSTER_GUARDED_BY(mutex_);
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

}  // namespace muster::testing
