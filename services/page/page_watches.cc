#include "services/page/page_watches.h"

#include <grpcpp/grpcpp.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <muster/configuration/v1/configuration_service.grpc.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <memory>
#include <utility>

#include "absl/time/clock.h"
#include "services/common/from_peer.h"
#include "services/rpc/client/bundle.h"
#include "services/rpc/client/watch.h"

namespace muster::page {

struct PageWatches::Stream {
  WatchHealth health = {};  // guarded by mutex_
  std::unique_ptr<rpc::Watch> watch = {};
};

// Reads the watch that `call(context, request, reactor)` opens into the sink.
template <class Response, class Request, class Call>
void PageWatches::Add(const char* service, Source source, Request request, Call call) {
  auto stream = std::make_unique<Stream>();
  Stream& self = *stream;
  self.health = {service, false, absl::Now(), "not connected yet", "not connected yet"};
  const auto take = [this, &self](const Response& message) {
    if (!sink_.Take(message)) Restart();
    bool current = false;
    rpc::ForEachMessage(message, [&](const Response& one) {
      current |= one.type() != type::v1::WATCH_EVENT_TYPE_SNAPSHOT;
    });
    if (current) SetLive(self);
  };
  self.watch = std::make_unique<rpc::Watch>(rpc::Watch::Options{
      .stream = rpc::StreamOf<Response>(std::move(request), std::move(call), take),
      .begins =
          [this, source](bool snapshot) {
            if (snapshot) sink_.BeginSnapshot(source);
          },
      .ended = [this, &self](const absl::Status& status) { SetEnded(self, status); }});
  streams_.push_back(std::move(stream));
}

PageWatches::PageWatches(const Channels& channels, WatchSink* sink) : sink_(*sink) {
  using Lifecycle = lifecycle::v1::WatchLifecycleRequest;
  if (channels.capacity != nullptr) {
    Add<capacity::v1::WatchCapacityResponse>(
        "capacity", Source::kCapacity, capacity::v1::WatchCapacityRequest(),
        [stub = std::shared_ptr(capacity::v1::CapacityService::NewStub(channels.capacity))](
            auto... call) { stub->async()->WatchCapacity(call...); });
  }
  if (channels.quota != nullptr) {
    Add<quota::v1::WatchQuotasResponse>(
        "quota", Source::kQuota, quota::v1::WatchQuotasRequest(),
        [stub = std::shared_ptr(quota::v1::QuotaService::NewStub(channels.quota))](auto... call) {
          stub->async()->WatchQuotas(call...);
        });
  }
  if (channels.lifecycle != nullptr) {
    Lifecycle request;
    request.add_kinds(Lifecycle::KIND_NODE_POOL);
    request.add_kinds(Lifecycle::KIND_NODE);
    Add<lifecycle::v1::WatchLifecycleResponse>(
        "lifecycle", Source::kLifecycle, request,
        [stub = std::shared_ptr(lifecycle::v1::LifecycleService::NewStub(channels.lifecycle))](
            auto... call) { stub->async()->WatchLifecycle(call...); });
  }
  if (channels.configuration != nullptr) {
    Add<configuration::v1::WatchConfigurationsResponse>(
        "configuration", Source::kConfiguration, configuration::v1::WatchConfigurationsRequest(),
        [stub = std::shared_ptr(
             configuration::v1::ConfigurationService::NewStub(channels.configuration))](
            auto... call) { stub->async()->WatchConfigurations(call...); });
  }
}

PageWatches::~PageWatches() { Stop(); }

void PageWatches::Start() {
  for (const auto& stream : streams_) stream->watch->Start();
}

void PageWatches::Stop() {
  for (const auto& stream : streams_) stream->watch->Stop();
}

void PageWatches::Restart() {
  for (const auto& stream : streams_) stream->watch->Restart();
}

void PageWatches::SetLive(Stream& stream) {
  MutexLock lock(mutex_);
  if (std::exchange(stream.health.live, true)) return;
  stream.health.since = absl::Now();
  stream.health.error.clear();
  stream.health.told.clear();
}

void PageWatches::SetEnded(Stream& stream, const absl::Status& status) {
  MutexLock lock(mutex_);
  if (stream.health.live) stream.health.since = absl::Now();
  stream.health.live = false;
  stream.health.error = std::string(status.message());
  stream.health.told = std::string(error::FromPeer(status, "It").message());
}

std::vector<WatchHealth> PageWatches::health() const {
  MutexLock lock(mutex_);
  std::vector<WatchHealth> all;
  for (const auto& stream : streams_) all.push_back(stream->health);
  return all;
}

}  // namespace muster::page
