#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "services/access/caller.h"
#include "services/common/mutex.h"

namespace muster::rpc {

// A stream that can be ended from outside.
class OpenStream {
 public:
  virtual ~OpenStream() = default;
  // Ends the stream with `status` as soon as the message that is under way has gone out. Called
  // without locks.
  virtual void End(const absl::Status& status) = 0;
  // Who opened it; null: not known. Lives as long as the stream.
  virtual const access::Caller* caller() const { return nullptr; }
};

// The open watch streams of a server. Thread-safe.
class StreamRegistry {
 public:
  // If EndAll was called before, returns the status with which the stream must end at once.
  std::optional<absl::Status> Add(const std::shared_ptr<OpenStream>& stream);
  void Remove(const OpenStream* stream);
  // Ends all streams, and all that come later.
  void EndAll(const absl::Status& status);
  // Ends the streams of callers for which `such` is true.
  void EndThoseOf(const std::function<bool(const access::Caller&)>& such,
                  const absl::Status& status);
  size_t size() const;

 private:
  mutable Mutex mutex_;
  absl::flat_hash_map<const OpenStream*, std::weak_ptr<OpenStream>> streams_
      MUSTER_GUARDED_BY(mutex_);
  std::optional<absl::Status> ended_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::rpc
