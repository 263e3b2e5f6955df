#include "services/musterctl/client/fleet_link.h"

#include <muster/history/v1/history_service.grpc.pb.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "services/common/timestamp.h"
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
        history_(history::v1::HistoryService::NewStub(connection.channel())),
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
  absl::StatusOr<Leader> AskLeader() override {
    history::v1::GetPastRequest request;
    request.set_name("leases/reconciler");
    SetTimestamp(kLastTime, request.mutable_time());
    const auto past =
        calls_.Call(timeout_, *history_, &history::v1::HistoryService::Stub::GetPast, request);
    if (!past.ok()) return FromServer(past.status());
    lifecycle::v1::Lease lease;
    if (!past->resource().UnpackTo(&lease))
      return absl::InternalError(
          absl::StrCat("The server tells of a ", past->resource().type_url(), "."));
    Leader leader{.holder = lease.holder(), .epoch = lease.epoch()};
    if (past->has_change_time()) leader.since = FromTimestamp(past->change_time());
    return leader;
  }
  void Stop() override {
    calls_.Stop();
    watches_.Stop();
  }

 private:
  const absl::Duration timeout_;
  const std::unique_ptr<lifecycle::v1::LifecycleService::Stub> lifecycle_;
  const std::unique_ptr<history::v1::HistoryService::Stub> history_;
  rpc::Calls calls_;
  page::PageWatches watches_;
};

}  // namespace

std::unique_ptr<FleetLink> OpenFleetLink(const Connection& connection, page::WatchSink& sink) {
  return std::make_unique<GrpcFleetLink>(connection, sink);
}

}  // namespace muster::musterctl
