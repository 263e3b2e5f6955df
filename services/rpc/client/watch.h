#pragma once

#include <grpcpp/client_context.h>
#include <muster/type/v1/watch.pb.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/common/backoff.h"
#include "services/common/stopper.h"
#include "services/rpc/client/calls.h"
#include "services/rpc/client/read_stream.h"
#include "services/rpc/client/resume_point.h"
#include "services/rpc/status.h"

namespace muster::rpc {

// Keeps the stream of a Watch open, on a thread of its own: after a stream that breaks, the next
// one goes on from the last revision, or begins with a snapshot if that is gone. The pauses in
// between are jittered, and grow as long as no stream brings anything.
class Watch {
 public:
  // Reads one stream to its end, from a point that it moves, and counts its messages.
  using Stream = std::function<absl::Status(grpc::ClientContext& context, ResumePoint& point,
                                            int64_t& messages)>;
  struct Options {
    Stream stream = {};   // see StreamOf
    bool resumes = true;  // false: every stream begins with a snapshot
    absl::Duration first_retry = absl::Milliseconds(100);
    absl::Duration last_retry = absl::Seconds(5);
    // Called by the thread before each stream, and after each but the one that Stop ended.
    std::function<void(bool snapshot)> begins = [](bool) {};
    std::function<void(const absl::Status& status)> ended = [](const absl::Status&) {};
  };

  explicit Watch(Options options);
  ~Watch();

  // Once.
  void Start();
  // Ends the stream; the next one begins with a snapshot. Any thread, within the stream's too.
  void Restart();
  // Ends the stream and the thread. Idempotent.
  void Stop();

 private:
  void Run();

  const Options options_;
  Calls calls_;
  std::atomic<bool> restart_ = false;
  Stopper stopper_;
  std::thread thread_;
};

// The streams of one Watch RPC.
//
//   StreamOf<WatchQuotasResponse>(request, [stub](auto... call) {
//       stub->async()->WatchQuotas(call...); }, [](const WatchQuotasResponse& message) { ... })
//
// `take`: see ReadStream. Messages come in bundles.
template <class Response, class Request, class Begin>
Watch::Stream StreamOf(Request request, Begin begin,
                       std::function<void(const Response& message)> take) {
  request.mutable_start()->set_bundle(true);
  return [request = std::move(request), begin = std::move(begin), take = std::move(take)](
             grpc::ClientContext& context, ResumePoint& point, int64_t& messages) {
    Request from = request;
    point.WriteTo(*from.mutable_start());
    const grpc::Status status = ReadStream<Response>(
        [&](grpc::ClientReadReactor<Response>* reactor) { begin(&context, &from, reactor); },
        [&](const Response& message) {
          messages += 1 + message.bundle_size();
          take(message);
          point.Take(message);
        });
    return status.ok() ? absl::UnavailableError("the server ended the watch")
                       : FromGrpcStatus(status);
  };
}

}  // namespace muster::rpc
