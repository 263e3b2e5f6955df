#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "muster/access/v1/access_service.grpc.pb.h"
#include "muster/capacity/v1/capacity_service.grpc.pb.h"
#include "muster/configuration/v1/configuration_service.grpc.pb.h"
#include "muster/debug/v1/debug_service.grpc.pb.h"
#include "muster/history/v1/history_service.grpc.pb.h"
#include "muster/lifecycle/v1/lifecycle_service.grpc.pb.h"
#include "muster/quota/v1/quota_service.grpc.pb.h"
#include "services/common/status_macros.h"
#include "services/common/user_agent.h"
#include "services/musterctl/client/api_types.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/client/fleet_link.h"
#include "services/musterctl/client/request_id.h"
#include "services/rpc/client/calls.h"
#include "services/rpc/client/channel.h"

namespace muster::musterctl {

// One channel with the stubs of all services, and blocking calls on them. For the .cc files of the
// Api only.
class Connection {
 public:
  using Access = access::v1::AccessService::Stub;
  using Capacity = capacity::v1::CapacityService::Stub;
  using Configuration = configuration::v1::ConfigurationService::Stub;
  using Debug = debug::v1::DebugService::Stub;
  using History = history::v1::HistoryService::Stub;
  using Lifecycle = lifecycle::v1::LifecycleService::Stub;
  using Quota = quota::v1::QuotaService::Stub;

  explicit Connection(const ApiOptions& options)
      : options_(options),
        channel_(rpc::MakeChannel(options.server, options.credentials, kLongestReconnect)) {}

  std::string Organization() const {
    return absl::StrCat("organizations/", options_.scope.organization);
  }
  std::string Cluster() const {
    return absl::StrCat(Organization(), "/clusters/", options_.scope.cluster);
  }
  // Of these two an id, or the whole name.
  std::string PoolName(const std::string& id) const {
    return absl::StrContains(id, "/") ? id : absl::StrCat(Cluster(), "/nodePools/", id);
  }
  std::string ClusterName(const std::string& id) const {
    return absl::StrContains(id, "/") ? id : absl::StrCat(Organization(), "/clusters/", id);
  }
  // The cluster that a NodePool or Node of that whole name is in.
  static std::string ClusterOf(const std::string& name) {
    return name.substr(0, name.find("/nodePools/"));
  }
  // What names of the kind in the scope begin with; where the scope is all organizations or clusters (`-`), up to there.
  std::string Prefix(Kind kind) const {
    const bool of_cluster = kind <= Kind::kEvent;
    if (kind > Kind::kQuota || options_.scope.organization == "-") return "";
    if (kind == Kind::kQuota) return absl::StrCat(Organization(), "/quotas/");
    if (!of_cluster || options_.scope.cluster == "-")
      return absl::StrCat(Organization(), "/clusters/");
    return absl::StrCat(Cluster(), "/");
  }

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  const std::string& server() const { return options_.server; }
  absl::Duration timeout() const { return options_.timeout; }

  template <class Stub, class Request, class Response>
  absl::StatusOr<Response> Call(const std::unique_ptr<Stub>& stub,
                                grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                             Response*),
                                const Request& request) {
    const absl::Time deadline = absl::Now() + options_.timeout;
    const auto call = [&](const Request& sent) -> absl::StatusOr<Response> {
      grpc::ClientContext context;
      rpc::PrepareCall(context, deadline);
      if (!options_.reason.empty()) context.AddMetadata("x-muster-reason", options_.reason);
      absl::StatusOr<Response> answer = rpc::Call(context, *stub, method, sent);
      if (!answer.ok()) return FromServer(answer.status());
      return answer;
    };
    if constexpr (requires(Request & r) { r.set_request_id(""); }) {
      return CallOnce(call, request, deadline);
    }
    return call(request);
  }

  // The answer of a Get; nullopt when there is none.
  template <class Stub, class Request, class Response>
  absl::StatusOr<std::optional<Response>> Find(const std::unique_ptr<Stub>& stub,
                                               grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                                            const Request&,
                                                                            Response*),
                                               const std::string& name) {
    Request request;
    request.set_name(name);
    absl::StatusOr<Response> answer = Call(stub, method, request);
    if (answer.ok()) return std::optional<Response>(*std::move(answer));
    if (absl::IsNotFound(answer.status())) return std::optional<Response>();
    return answer.status();
  }

  // The pages of a list, until `receive` wants no more. `items` returns the response's repeated field.
  template <class Stub, class Request, class Response, class Items>
  absl::Status Pages(const std::unique_ptr<Stub>& stub,
                     grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                     Request request, Items items, const PageReceiver& receive) {
    request.set_page_size(kPageSize);
    do {
      ASSIGN_OR_RETURN(Response response, Call(stub, method, request));
      std::vector<Item> page;
      for (auto& item : *items(response)) page.emplace_back(std::move(item));
      if (!receive(std::move(page))) return absl::OkStatus();
      request.set_page_token(response.next_page_token());
    } while (!request.page_token().empty());
    return absl::OkStatus();
  }

  absl::Status ListMachines(const capacity::v1::ListMachinesRequest& filter,
                            std::vector<Item>& out) {
    return Pages(
        capacity, &Capacity::ListMachines, filter,
        [](auto& response) { return response.mutable_machines(); }, CollectInto(out));
  }

  static PageReceiver CollectInto(std::vector<Item>& out) {
    return [&out](std::vector<Item> page) {
      for (Item& item : page) out.push_back(std::move(item));
      return true;
    };
  }

 private:
  static constexpr int kPageSize = 1000;
  // How long after a call whose outcome is unknown it is repeated.
  static constexpr absl::Duration kPauses[] = {absl::Milliseconds(200), absl::Milliseconds(400),
                                               absl::Milliseconds(800)};

  static bool IsOnlyTried(const auto& request) {
    if constexpr (requires { request.validate_only(); }) return request.validate_only();
    return false;
  }
  // Under an id, so that it is done once however often it arrives.
  template <class F, class Request>
  auto CallOnce(F call, Request request, absl::Time deadline) -> decltype(call(request)) {
    if (IsOnlyTried(request)) return call(request);
    const int number = ++requests_;
    request.set_request_id(number == 1 ? request_id_ : absl::StrCat(request_id_, ".", number));
    auto answer = call(request);
    for (const absl::Duration pause : kPauses) {
      const absl::StatusCode code = answer.status().code();
      const bool is_unknown =
          code == absl::StatusCode::kUnavailable || code == absl::StatusCode::kUnknown;
      if (!is_unknown || absl::Now() + pause >= deadline) break;
      options_.sleep ? options_.sleep(pause) : absl::SleepFor(pause);
      answer = call(request);
    }
    return answer;
  }

  static constexpr absl::Duration kLongestReconnect = absl::Seconds(1);

  const ApiOptions options_;
  const std::string request_id_ =
      options_.request_id.empty() ? NewRequestId() : options_.request_id;
  std::atomic<int> requests_ = 0;  // that bore an id
  const std::shared_ptr<grpc::Channel> channel_;

 public:
  const std::unique_ptr<Lifecycle> lifecycle = lifecycle::v1::LifecycleService::NewStub(channel_);
  const std::unique_ptr<Capacity> capacity = capacity::v1::CapacityService::NewStub(channel_);
  const std::unique_ptr<Quota> quota = quota::v1::QuotaService::NewStub(channel_);
  const std::unique_ptr<Configuration> configuration =
      configuration::v1::ConfigurationService::NewStub(channel_);
  const std::unique_ptr<Access> access = access::v1::AccessService::NewStub(channel_);
  const std::unique_ptr<History> history = history::v1::HistoryService::NewStub(channel_);
  const std::unique_ptr<Debug> debug = debug::v1::DebugService::NewStub(channel_);
};

// The parts of the Api that have files of their own.
absl::StatusOr<Applied> ApplyResource(Connection& connection, const Resource& resource,
                                      bool dry_run);
absl::Status ListPages(Connection& connection, Kind kind, const std::string& pool,
                       const PageReceiver& receive);
absl::StatusOr<Item> GetItem(Connection& connection, Kind kind, const std::string& id);
// The resource name that is meant. INVALID_ARGUMENT: it cannot be one of the kind.
absl::StatusOr<std::string> ResolveName(const Connection& connection, const ResourceId& resource);

// Api::DeleteItem.
absl::Status DeleteItem(Connection& connection, const ResourceId& resource, bool dry_run);
std::unique_ptr<FleetLink> OpenFleetLink(const Connection& connection, page::WatchSink& sink);
absl::StatusOr<history::v1::ListChangesResponse> ListChanges(Connection& connection,
                                                             const ResourceId& resource, int limit,
                                                             absl::Time since);
absl::StatusOr<history::v1::GetPastResponse> GetPast(Connection& connection,
                                                     const ResourceId& resource,
                                                     const Moment& then);
absl::StatusOr<std::vector<Item>> ListPast(Connection& connection, Kind kind,
                                           const std::string& pool, const Moment& then);
absl::Status WatchStream(Connection& connection, Kind kind, const type::v1::WatchStart& start,
                         const WatchReceiver& receive);

}  // namespace muster::musterctl
