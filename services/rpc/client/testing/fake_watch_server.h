#pragma once

// For tests.
#include <grpcpp/grpcpp.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/latch.h"
#include "services/common/mutex.h"
#include "services/common/stopper.h"

namespace muster::rpc {

inline quota::v1::WatchQuotasResponse WatchMessage(type::v1::WatchEventType type,
                                                   int64_t revision) {
  quota::v1::WatchQuotasResponse message;
  message.set_type(type);
  message.set_revision(revision);
  return message;
}

// Plays one stream of WatchQuotas after the other; the last one stays open until its client goes,
// unless it ends with an error.
class FakeWatchServer final : public quota::v1::QuotaService::Service {
 public:
  struct Play {
    std::vector<quota::v1::WatchQuotasResponse> messages = {};
    grpc::Status end = grpc::Status::OK;
  };

  explicit FakeWatchServer(std::vector<Play> plays) : plays_(std::move(plays)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }
  // Each request's start; after the last one was asked for.
  std::vector<std::string> AwaitStarts() {
    last_.Wait();
    MutexLock lock(mutex_);
    return starts_;
  }

  grpc::Status WatchQuotas(grpc::ServerContext* context,
                           const quota::v1::WatchQuotasRequest* request,
                           grpc::ServerWriter<quota::v1::WatchQuotasResponse>* writer) override {
    Play play;
    bool last = false;
    {
      MutexLock lock(mutex_);
      const size_t at = starts_.size();
      starts_.push_back(request->start().ShortDebugString());
      last = at + 1 >= plays_.size();
      if (at < plays_.size()) play = plays_[at];
    }
    for (const quota::v1::WatchQuotasResponse& message : play.messages) writer->Write(message);
    if (last) last_.Set(true);
    Stopper poll;
    while (last && play.end.ok() && !context->IsCancelled()) poll.Sleep(absl::Milliseconds(1));
    return play.end;
  }

 private:
  const std::vector<Play> plays_;
  Mutex mutex_;
  std::vector<std::string> starts_ MUSTER_GUARDED_BY(mutex_);
  Awaited<bool> last_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace muster::rpc
