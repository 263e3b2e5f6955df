#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>
#include <muster/type/v1/watch.pb.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "services/common/mutex.h"

namespace muster::lifecycle {

// For tests. As gRPC says it of a server that is not there.
inline grpc::Status NobodyThere() {
  return {grpc::StatusCode::UNAVAILABLE,
          "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.2:7612: refused"};
}

// For tests. What the watches of a fake send: a snapshot that is only its end, then what is pushed.
template <class Response>
class FakeFeed {
 public:
  void Push(Response message) {
    MutexLock lock(mutex_);
    message.set_revision(static_cast<int64_t>(log_.size()) + 1);
    log_.push_back(std::move(message));
    wakes_.SignalAll();
  }
  // Ends the watches that are open, as a server that restarts does. The next ones begin with what
  // was pushed last of each key, as a snapshot.
  void Drop() {
    MutexLock lock(mutex_);
    ++drops_;
    wakes_.SignalAll();
  }
  // The same, and `key` was deleted while none was open.
  void DropWithout(const std::string& key) {
    MutexLock lock(mutex_);
    for (Response& message : log_) {
      if (message.key() == key) message.Clear();
    }
    ++drops_;
    wakes_.SignalAll();
  }
  // Likewise, of one that was restored to a time before anything was pushed.
  void Restore() {
    MutexLock lock(mutex_);
    log_.clear();
    ++histories_;
    ++drops_;
    wakes_.SignalAll();
  }
  // Watches that were begun.
  int watches() {
    MutexLock lock(mutex_);
    return watches_;
  }
  grpc::Status Serve(grpc::ServerContext& context, std::vector<Response> snapshot,
                     grpc::ServerWriter<Response>& writer) {
    size_t next = 0;
    int drops = 0;
    std::string incarnation;
    {
      MutexLock lock(mutex_);
      drops = drops_;
      incarnation = "history-" + std::to_string(histories_);
      ++watches_;
      if (drops > 0) {
        std::map<std::string, const Response*> newest;
        for (; next < log_.size(); ++next) newest[log_[next].key()] = &log_[next];
        newest.erase("");  // deleted: DropWithout
        for (const auto& [key, message] : newest) {
          snapshot.push_back(*message);
          snapshot.back().set_type(type::v1::WATCH_EVENT_TYPE_SNAPSHOT);
        }
      }
    }
    Response end;
    end.set_type(type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END);
    end.set_incarnation(incarnation);
    snapshot.push_back(end);
    for (const Response& message : snapshot) writer.Write(message);
    while (!context.IsCancelled()) {
      std::vector<Response> fresh;
      {
        MutexLock lock(mutex_);
        if (drops != drops_) return {grpc::StatusCode::UNAVAILABLE, "dropped"};
        if (next == log_.size()) wakes_.WaitFor(mutex_, absl::Milliseconds(20));
        fresh.assign(log_.begin() + static_cast<std::ptrdiff_t>(next), log_.end());
        next = log_.size();
      }
      for (const Response& message : fresh) writer.Write(message);
    }
    return grpc::Status::OK;
  }

 private:
  Mutex mutex_;
  CondVar wakes_;
  std::vector<Response> log_ MUSTER_GUARDED_BY(mutex_);
  int drops_ MUSTER_GUARDED_BY(mutex_) = 0;
  int histories_ MUSTER_GUARDED_BY(mutex_) = 1;
  int watches_ MUSTER_GUARDED_BY(mutex_) = 0;
};

}  // namespace muster::lifecycle
