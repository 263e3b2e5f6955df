#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "services/common/mutex.h"
#include "services/page/core/source.h"
#include "services/page/watch_sink.h"

namespace muster::page {

// Channels to the four services. Null: the page does without that service.
struct Channels {
  std::shared_ptr<grpc::Channel> capacity = {};
  std::shared_ptr<grpc::Channel> quota = {};
  std::shared_ptr<grpc::Channel> lifecycle = {};
  std::shared_ptr<grpc::Channel> configuration = {};
};

// Keeps a sink up to date by a watch of each service: a snapshot, then the changes. A broken stream
// is resumed after the last revision, or begun with a snapshot if that is no longer possible.
class PageWatches {
 public:
  // `sink` must outlive it.
  PageWatches(const Channels& channels, WatchSink* sink);
  ~PageWatches();

  void Start();
  // Ends the streams and threads. Idempotent.
  void Stop();
  std::vector<WatchHealth> health() const;

 private:
  struct Stream;

  template <class Response, class Request, class Call>
  void Add(const char* service, Source source, Request request, Call call);
  void SetLive(Stream& stream);
  void SetEnded(Stream& stream, const absl::Status& status);
  // Restarts all streams with a snapshot, because the sink forgot everything.
  void Restart();

  WatchSink& sink_;
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

}  // namespace muster::page
