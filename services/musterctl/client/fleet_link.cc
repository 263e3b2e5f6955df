#include "services/musterctl/client/fleet_link.h"

#include <memory>

#include "services/musterctl/client/connection.h"
#include "services/page/page_watches.h"
#include "services/rpc/client/calls.h"

namespace muster::musterctl {
namespace {

class GrpcFleetLink final : public FleetLink {
 public:
  GrpcFleetLink(const Connection& connection, page::WatchSink& sink)
      : timeout_(connection.timeout()),
        lifecycle_(lifecycle::v1::LifecycleService::NewStub(connection.channel())),
        watches_({.capacity = connection.channel(),
                  .quota = connection.channel(),
                  .lifecycle = connection.channel(),
                  .configuration = connection.channel()},
                 &sink) {
    watches_.Start();
  }
  ~GrpcFleetLink() override { GrpcFleetLink::Stop(); }

  std::vector<page::WatchHealth> health() const override { return watches_.health(); }
  absl::StatusOr<lifecycle::v1::ExplainNodePoolResponse> Explain(const std::string& pool) override {
    lifecycle::v1::ExplainNodePoolRequest request;
    request.set_name(pool);
    auto answer = calls_.Call(timeout_, *lifecycle_,
                              &lifecycle::v1::LifecycleService::Stub::ExplainNodePool, request);
    if (!answer.ok()) return FromServer(answer.status());
    return answer;
  }
  void Stop() override {
    calls_.Stop();
    watches_.Stop();
  }

 private:
  const absl::Duration timeout_;
  const std::unique_ptr<lifecycle::v1::LifecycleService::Stub> lifecycle_;
  rpc::Calls calls_;
  page::PageWatches watches_;
};

}  // namespace

std::unique_ptr<FleetLink> OpenFleetLink(const Connection& connection, page::WatchSink& sink) {
  return std::make_unique<GrpcFleetLink>(connection, sink);
}

}  // namespace muster::musterctl
