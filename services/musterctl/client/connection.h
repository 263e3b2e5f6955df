#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/client/client.h"
#include "services/common/quota_name.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/api_types.h"
#include "services/musterctl/client/errors.h"

namespace muster::page {
class WatchSink;
}

namespace muster::musterctl {

class FleetLink;

// A client::Client that also turns ids into resource names, and errors into those that people read.
// For the .cc files of the Api only.
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
      : scope_(options.scope),
        client_({.server = options.server,
                 .credentials = options.credentials,
                 .timeout = options.timeout,
                 .request_id = options.request_id,
                 .reason = options.reason,
                 .sleep = options.sleep}) {}

  std::string Organization() const { return absl::StrCat("organizations/", scope_.organization); }
  std::string Cluster() const { return absl::StrCat(Organization(), "/clusters/", scope_.cluster); }
  // PoolName and ClusterName take an id or a whole name.
  std::string PoolName(const std::string& id) const {
    return absl::StrContains(id, "/") ? id : absl::StrCat(Cluster(), "/nodePools/", id);
  }
  std::string ClusterName(const std::string& id) const {
    return absl::StrContains(id, "/") ? id : absl::StrCat(Organization(), "/clusters/", id);
  }
  // What the names of the kind begin with in the scope; where the scope says all organizations or
  // all clusters (`-`), the part before that.
  std::string Prefix(Kind kind) const {
    const bool of_cluster = kind <= Kind::kEvent;
    if (kind > Kind::kQuota || scope_.organization == "-") return "";
    if (kind == Kind::kQuota || kind == Kind::kHolding) return QuotaNameOf(scope_.organization, "");
    if (!of_cluster || scope_.cluster == "-") return absl::StrCat(Organization(), "/clusters/");
    return absl::StrCat(Cluster(), "/");
  }

  // Whether the scope is one cluster: neither all organizations nor all clusters (`-`).
  bool is_one_cluster() const { return scope_.organization != "-" && scope_.cluster != "-"; }
  // Whether PoolName(pool) names one NodePool: false for an id alone in a scope of all clusters,
  // several of which may have one, and for an empty `pool`.
  bool IsPlaced(const std::string& pool) const {
    return !pool.empty() && (is_one_cluster() || absl::StrContains(pool, "/"));
  }

  client::Client& client() { return client_; }
  const std::shared_ptr<grpc::Channel>& channel() const { return client_.channel(); }
  const std::string& server() const { return client_.options().server; }
  absl::Duration timeout() const { return client_.options().timeout; }

  // One call. See client::Client.
  template <class Stub, class Request, class Response>
  absl::StatusOr<Response> Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                             Response*),
                                const Request& request) {
    absl::StatusOr<Response> answer = client_.Call(method, request);
    if (!answer.ok()) return FromServer(answer.status());
    return answer;
  }

  // The answer of a Get; nullopt when there is none.
  template <class Stub, class Request, class Response>
  absl::StatusOr<std::optional<Response>> Find(grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                                            const Request&,
                                                                            Response*),
                                               const std::string& name) {
    absl::StatusOr<std::optional<Response>> answer = client_.Find(method, name);
    if (!answer.ok()) return FromServer(answer.status());
    return answer;
  }

  // The pages of a list, until `receive` wants no more. `items` returns the response's repeated
  // field.
  template <class Stub, class Request, class Response, class Items>
  absl::Status Pages(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                     const Request& request, Items items, const PageReceiver& receive) {
    return FromServer(client_.Pages(method, request, [&](Response& response) {
      std::vector<Item> page;
      for (auto& item : *items(response)) page.emplace_back(std::move(item));
      return receive(std::move(page));
    }));
  }

  absl::StatusOr<std::vector<Item>> ListMachines(const capacity::v1::ListMachinesRequest& filter) {
    std::vector<Item> items;
    RETURN_IF_ERROR(Pages(
        &Capacity::ListMachines, filter, [](auto& response) { return response.mutable_machines(); },
        CollectInto(items)));
    return items;
  }

  static PageReceiver CollectInto(std::vector<Item>& out) {
    return [&out](std::vector<Item> page) {
      for (Item& item : page) out.push_back(std::move(item));
      return true;
    };
  }

 private:
  const Scope scope_;
  client::Client client_;
};

// The parts of the Api that have files of their own.
absl::StatusOr<Applied> ApplyResource(Connection& connection, const Resource& resource,
                                      const WriteMode& mode);
// Api::UpdateNodePool.
absl::StatusOr<Applied> UpdateFields(Connection& connection, const lifecycle::v1::NodePool& pool,
                                     const std::vector<std::string>& paths, const WriteMode& mode);
absl::Status ListPages(Connection& connection, Kind kind, const ListRange& range,
                       const PageReceiver& receive);
// A text as filters write it (muster.type.v1.ListChoice).
std::string FilterText(absl::string_view text);
absl::StatusOr<Item> GetItem(Connection& connection, Kind kind, const std::string& id);
// The resource name that is meant. INVALID_ARGUMENT: it cannot be one of the kind.
absl::StatusOr<std::string> ResolveName(const Connection& connection, const ResourceId& resource);

// Api::DeleteItem, of one server.
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
absl::Status WatchStream(Connection& connection, const WatchRange& range,
                         const type::v1::WatchStart& start, const WatchReceiver& receive);

}  // namespace muster::musterctl
