#pragma once

#include <grpcpp/support/status.h>
#include <prometheus/collectable.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/rpc/metric_family.h"
#include "services/rpc/open_writes.h"

namespace muster::rpc {

// The counters of one method. Thread-safe; no locks, no allocation: this is the hot path. (A watch
// takes a lock as it begins and ends.)
class MethodMetrics {
 public:
  enum class Type { kUnary, kClientStream, kServerStream, kBidiStream };

  // `full_name`: `/package.Service/Method`.
  MethodMetrics(std::string full_name, Type type) : full_name_(std::move(full_name)), type_(type) {}

  const std::string& full_name() const { return full_name_; }
  Type type() const { return type_; }

  void Started() { started_.fetch_add(1, std::memory_order_relaxed); }
  void Received() { received_.fetch_add(1, std::memory_order_relaxed); }
  void Sent() { sent_.fetch_add(1, std::memory_order_relaxed); }
  void Handled(grpc::StatusCode code, absl::Duration took);
  // Of its watches.
  OpenWrites& writes() { return writes_; }

 private:
  friend class ServerMetrics;
  static constexpr size_t kCodes = 17;
  using Counter = std::atomic<uint64_t>;

  const std::string full_name_;
  const Type type_;
  Counter started_ = 0;
  Counter received_ = 0;
  Counter sent_ = 0;
  std::array<Counter, kCodes> handled_ = {};
  Histogram took_{kCallBuckets};
  OpenWrites writes_;
};

// The `grpc_server_*` metrics of a process, under the names and labels of go-grpc-prometheus, and
// `muster_watch_*`. A method has from Add on the series that stock dashboards and alerts need
// before its first call: calls started (for rates, and, less those handled, for open streams), and
// calls handled with the codes OK and Unavailable (so that the share of `grpc_code!="OK"` is 0, not
// nothing). Other codes and the histogram come with the first call that has them. Thread-safe.
class ServerMetrics final : public prometheus::Collectable {
 public:
  // The method's counters, made when they are not there yet. They live as long as this.
  MethodMetrics* Add(absl::string_view full_name, MethodMetrics::Type type);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  mutable Mutex mutex_;
  absl::flat_hash_map<std::string, std::unique_ptr<MethodMetrics>> methods_
      MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::rpc
