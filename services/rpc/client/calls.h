#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <set>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/rpc/client/channel.h"
#include "services/rpc/status.h"

namespace muster::rpc {

// Makes a call and waits for its end. Errors are the server's, with their details.
template <class Stub, class Request, class Response>
absl::StatusOr<Response> Call(grpc::ClientContext& context, Stub& stub,
                              grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                           Response*),
                              const Request& request) {
  Response response;
  const grpc::Status status = (stub.*method)(&context, request, &response);
  if (!status.ok()) return FromGrpcStatus(status);
  return response;
}

// The same, for at most `timeout`.
template <class Stub, class Request, class Response>
absl::StatusOr<Response> Call(absl::Duration timeout, Stub& stub,
                              grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                           Response*),
                              const Request& request) {
  grpc::ClientContext context;
  PrepareCall(context, timeout);
  return Call(context, stub, method, request);
}

// The calls of a client, to be ended together. Thread-safe.
class Calls {
 public:
  // The context of a call, for as long as it is under way: Stop cancels it, at once if it was
  // called before.
  class Context {
   public:
    explicit Context(Calls& calls) : calls_(calls) {
      MutexLock lock(calls_.mutex_);
      calls_.open_.insert(&context_);
      if (calls_.stopped_) context_.TryCancel();
    }
    ~Context() {
      MutexLock lock(calls_.mutex_);
      calls_.open_.erase(&context_);
    }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    grpc::ClientContext& operator*() { return context_; }

   private:
    Calls& calls_;
    grpc::ClientContext context_;
  };

  // Makes a call and waits for its end, at most for `timeout`. CANCELLED after Stop.
  template <class Stub, class Request, class Response>
  absl::StatusOr<Response> Call(absl::Duration timeout, Stub& stub,
                                grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                             Response*),
                                const Request& request) {
    Context context(*this);
    PrepareCall(*context, timeout);
    return rpc::Call(*context, stub, method, request);
  }

  // Ends all calls under way.
  void Cancel() {
    MutexLock lock(mutex_);
    CancelOpen();
  }
  // Ends all calls under way and to come.
  void Stop() {
    MutexLock lock(mutex_);
    stopped_ = true;
    CancelOpen();
  }

 private:
  void CancelOpen() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (grpc::ClientContext* context : open_) context->TryCancel();
  }

  Mutex mutex_;
  bool stopped_ MUSTER_GUARDED_BY(mutex_) = false;
  std::set<grpc::ClientContext*> open_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::rpc
