#include "services/musterd/debug_handlers.h"

#include <memory>
#include <utility>

#include "services/rpc/unary.h"

namespace muster::musterd {
namespace {

absl::StatusOr<debug::v1::CompareStateResponse> Compare(const std::vector<ServicePart>& parts) {
  debug::v1::CompareStateResponse response;
  for (const ServicePart& part : parts) {
    const absl::StatusOr<storage::Comparison> comparison = part.compare();
    if (!comparison.ok()) return comparison.status();
    auto* out = response.add_comparisons();
    out->set_service(part.name);
    out->set_revision(comparison->revision);
    out->set_resources(comparison->resources);
    out->set_whole_journal(comparison->whole_journal);
    for (const std::string& difference : comparison->differences) out->add_differences(difference);
  }
  return response;
}

}  // namespace

DebugHandlers::DebugHandlers(const std::vector<ServicePart>* parts)
    : parts_(*parts), thread_([this] { Run(); }) {}

DebugHandlers::~DebugHandlers() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    wakes_.Signal();
  }
  thread_.join();
}

grpc::ServerUnaryReactor* DebugHandlers::CompareState(grpc::CallbackServerContext* context,
                                                      const debug::v1::CompareStateRequest*,
                                                      debug::v1::CompareStateResponse* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    auto shared = std::make_shared<rpc::Responder>(std::move(responder));
    MutexLock lock(mutex_);
    jobs_.push_back([this, shared, response] {
      absl::StatusOr<debug::v1::CompareStateResponse> compared = Compare(parts_);
      shared->Reply([&] {
        if (compared.ok()) *response = *std::move(compared);
        return compared.status();
      });
    });
    wakes_.Signal();
  });
}

grpc::ServerUnaryReactor* DebugHandlers::Ping(grpc::CallbackServerContext* context,
                                              const debug::v1::PingRequest*,
                                              debug::v1::PingResponse*) {
  return rpc::Unary(context, [](rpc::Responder responder) { responder.Finish(absl::OkStatus()); });
}

void DebugHandlers::Run() {
  while (true) {
    std::function<void()> job;
    {
      MutexLock lock(mutex_);
      while (jobs_.empty() && !stopping_) wakes_.Wait(mutex_);
      if (stopping_) return;  // what waits is answered by its responder's destructor
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace muster::musterd
