#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <functional>
#include <utility>

#include "services/common/latch.h"

namespace muster::rpc {

// Reads a server stream to its end and blocks meanwhile, without a thread of the caller's in gRPC's
// poll, where each would be woken whenever any call of the process moves.
//
//   ReadStream<WatchQuotasResponse>(
//       [&](auto* reactor) { stub->async()->WatchQuotas(&context, &request, reactor); },
//       [&](const WatchQuotasResponse& message) { ... });
//
// `take` is called for each message, one after the other, from gRPC's threads: it must not block.
// To end the stream early: context.TryCancel(), from any thread.
template <class Response>
grpc::Status ReadStream(const std::function<void(grpc::ClientReadReactor<Response>*)>& start,
                        const std::function<void(const Response&)>& take) {
  class Reader final : public grpc::ClientReadReactor<Response> {
   public:
    explicit Reader(const std::function<void(const Response&)>& take) : take_(take) {}

    void Begin() {
      this->StartRead(&message_);
      this->StartCall();
    }
    void OnReadDone(bool ok) override {
      if (!ok) return;
      take_(message_);
      this->StartRead(&message_);
    }
    void OnDone(const grpc::Status& status) override { end_.Set(status); }
    grpc::Status WaitForEnd() { return end_.Wait(); }

   private:
    const std::function<void(const Response&)>& take_;
    Response message_;  // gRPC's, but within OnReadDone
    Awaited<grpc::Status> end_;
  };
  Reader reader(take);
  start(&reader);
  reader.Begin();
  return reader.WaitForEnd();
}

}  // namespace muster::rpc
