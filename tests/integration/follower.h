#pragma once

#include <grpcpp/grpcpp.h>
#include <muster/type/v1/watch.pb.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "services/common/mutex.h"
#include "services/common/stopper.h"
#include "services/rpc/client/calls.h"
#include "services/rpc/status.h"

namespace muster::testing {

// Follows a service's watch as clients do, in a thread of its own: when a stream ends, another one
// resumes where it ended, until the service says that it cannot be resumed from there
// (OUT_OF_RANGE).
class Follower {
 public:
  using Tell = std::function<void(type::v1::WatchEventType type, int64_t revision,
                                  const std::string& incarnation)>;
  // Opens one stream, calls `tell` for each of its messages, and returns the stream's status.
  using Stream = std::function<absl::Status(rpc::Calls& calls, const type::v1::WatchStart& start,
                                            const Tell& tell)>;

  Follower(std::string service, Stream stream)
      : service_(std::move(service)), stream_(std::move(stream)), thread_([this] { Run(); }) {}
  ~Follower() {
    stopper_.Stop();
    calls_.Stop();
    thread_.join();
  }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  const std::string& service() const { return service_; }
  // Whether a whole snapshot has come.
  bool is_level() const {
    MutexLock lock(mutex_);
    return is_level_;
  }
  // The OUT_OF_RANGE that ended it; nullopt: it goes on.
  std::optional<absl::Status> end() const {
    MutexLock lock(mutex_);
    return end_;
  }

 private:
  void Run() {
    do {
      const absl::Status status =
          stream_(calls_, start_, [this](auto... message) { Take(message...); });
      if (!absl::IsOutOfRange(status)) continue;
      MutexLock lock(mutex_);
      end_ = status;
      return;
    } while (stopper_.Sleep(absl::Milliseconds(50)));
  }
  void Take(type::v1::WatchEventType type, int64_t revision, const std::string& incarnation) {
    if (type == type::v1::WATCH_EVENT_TYPE_SNAPSHOT) return;
    start_.set_after_revision(revision);
    if (!incarnation.empty()) start_.set_incarnation(incarnation);
    MutexLock lock(mutex_);
    is_level_ = true;
  }

  const std::string service_;
  const Stream stream_;
  type::v1::WatchStart start_;  // used by thread_ only
  mutable Mutex mutex_;
  bool is_level_ MUSTER_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> end_ MUSTER_GUARDED_BY(mutex_);
  rpc::Calls calls_;
  Stopper stopper_;
  std::thread thread_;
};

// A stream of that Watch method.
template <class Stub, class Request, class Response>
Follower::Stream StreamBy(std::shared_ptr<Stub> stub,
                          std::unique_ptr<grpc::ClientReader<Response>> (Stub::*method)(
                              grpc::ClientContext*, const Request&)) {
  return [stub, method](rpc::Calls& calls, const type::v1::WatchStart& start,
                        const Follower::Tell& tell) {
    rpc::Calls::Context context(calls);
    Request request;
    *request.mutable_start() = start;
    const auto reader = (stub.get()->*method)(&*context, request);
    Response message;
    while (reader->Read(&message)) tell(message.type(), message.revision(), message.incarnation());
    return rpc::FromGrpcStatus(reader->Finish());
  };
}

}  // namespace muster::testing
