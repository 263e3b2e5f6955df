#include "services/musterctl/client/api.h"

#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/client/options.h"
#include "services/musterctl/client/connection.h"

namespace muster::musterctl {
namespace {

class GrpcApi final : public Api {
 public:
  explicit GrpcApi(const ApiOptions& options) : connection_(options) {}

  void EndWithin(absl::Duration left) override { connection_.client().EndWithin(left); }
  void BeginOrder(int number) override { connection_.client().BeginOrder(number); }

  absl::Status ListPages(Kind kind, const ListRange& range, const PageReceiver& receive) override {
    return musterctl::ListPages(connection_, kind, range, receive);
  }
  absl::StatusOr<Item> Get(Kind kind, const std::string& id) override {
    return GetItem(connection_, kind, id);
  }
  absl::StatusOr<lifecycle::v1::NodePool> GetNodePool(const std::string& id) override {
    lifecycle::v1::GetNodePoolRequest request;
    request.set_name(connection_.PoolName(id));
    return connection_.Call(&Connection::Lifecycle::GetNodePool, request);
  }
  absl::StatusOr<std::vector<lifecycle::v1::Event>> PoolEvents(
      const std::string& name, const std::string& pool_uid) override;

  absl::StatusOr<Applied> Apply(const Resource& resource, const WriteMode& mode) override {
    return ApplyResource(connection_, resource, mode);
  }
  absl::StatusOr<Applied> UpdateNodePool(const lifecycle::v1::NodePool& pool,
                                         const std::vector<std::string>& paths,
                                         const WriteMode& mode) override {
    return UpdateFields(connection_, pool, paths, mode);
  }
  absl::StatusOr<lifecycle::v1::NodePool> DeleteNodePool(const std::string& id,
                                                         bool dry_run) override {
    return CallByName(&Connection::Lifecycle::DeleteNodePool, id, dry_run);
  }
  absl::StatusOr<lifecycle::v1::NodePool> Resize(
      lifecycle::v1::ResizeNodePoolRequest request) override {
    request.set_name(connection_.PoolName(request.name()));
    return connection_.Call(&Connection::Lifecycle::ResizeNodePool, request);
  }
  absl::StatusOr<lifecycle::v1::NodePool> Reconfigure(
      lifecycle::v1::ReconfigureNodePoolRequest request) override {
    request.set_name(connection_.PoolName(request.name()));
    return connection_.Call(&Connection::Lifecycle::ReconfigureNodePool, request);
  }
  absl::StatusOr<lifecycle::v1::NodePool> ControlReconfiguration(ReconfigurationVerb verb,
                                                                 const std::string& id,
                                                                 bool dry_run) override;
  absl::StatusOr<lifecycle::v1::Node> UpdateNode(const std::string& pool,
                                                 const std::string& machine,
                                                 const lifecycle::v1::Node& changed,
                                                 const std::string& field, bool dry_run) override;
  absl::StatusOr<lifecycle::v1::Node> OrderNode(const std::string& pool, const std::string& machine,
                                                const NodeOrder& order) override;
  absl::StatusOr<capacity::v1::Machine> SetMachineState(const std::string& machine,
                                                        capacity::v1::Machine::State state,
                                                        bool dry_run) override {
    capacity::v1::SetMachineStateRequest request;
    ASSIGN_OR_RETURN(*request.mutable_name(), ResolveName(connection_, {Kind::kMachine, machine}));
    request.set_state(state);
    request.set_validate_only(dry_run);
    return connection_.Call(&Connection::Capacity::SetMachineState, request);
  }
  absl::StatusOr<lifecycle::v1::Cluster> BindCluster(
      lifecycle::v1::BindClusterRequest request) override {
    request.set_name(connection_.ClusterName(request.name()));
    return connection_.Call(&Connection::Lifecycle::BindCluster, request);
  }
  absl::StatusOr<lifecycle::v1::Cluster> AllowRemovals(
      lifecycle::v1::AllowRemovalsRequest request) override {
    request.set_name(connection_.ClusterName(request.name()));
    return connection_.Call(&Connection::Lifecycle::AllowRemovals, request);
  }
  absl::StatusOr<lifecycle::v1::ExplainNodePoolResponse> ExplainNodePool(
      const std::string& id) override {
    lifecycle::v1::ExplainNodePoolRequest request;
    request.set_name(connection_.PoolName(id));
    return connection_.Call(&Connection::Lifecycle::ExplainNodePool, request);
  }
  absl::StatusOr<CellNames> DeleteItem(const ResourceId& resource, bool dry_run) override {
    RETURN_IF_ERROR(musterctl::DeleteItem(connection_, resource, dry_run));
    return CellNames();
  }
  absl::StatusOr<quota::v1::CheckQuotaResponse> CheckQuota(
      const quota::v1::CheckQuotaRequest& request) override {
    return connection_.Call(&Connection::Quota::CheckQuota, request);
  }
  absl::StatusOr<std::vector<Item>> ListMachines(
      const capacity::v1::ListMachinesRequest& filter) override {
    return connection_.ListMachines(filter);
  }
  absl::StatusOr<capacity::v1::ExplainClaimResponse> ExplainClaim(
      const std::string& pool_uid) override {
    capacity::v1::ExplainClaimRequest request;
    request.set_name(absl::StrCat("claims/", pool_uid));
    return connection_.Call(&Connection::Capacity::ExplainClaim, request);
  }
  absl::StatusOr<FoundPlacements> FindPlacements(
      const capacity::v1::FindPlacementsRequest& request) override {
    FoundPlacements found;
    ASSIGN_OR_RETURN(found.answer,
                     connection_.Call(&Connection::Capacity::FindPlacements, request));
    return found;
  }
  absl::StatusOr<CellNames> PublishRelease(const std::string& name, bool dry_run) override {
    configuration::v1::PublishReleaseRequest request;
    request.mutable_release()->set_name(name);
    request.set_validate_only(dry_run);
    RETURN_IF_ERROR(connection_.Call(&Connection::Configuration::PublishRelease, request).status());
    return CellNames();
  }
  absl::StatusOr<CellNames> WithdrawRelease(const std::string& name, bool dry_run) override {
    configuration::v1::WithdrawReleaseRequest request;
    request.set_name(name);
    request.set_validate_only(dry_run);
    RETURN_IF_ERROR(
        connection_.Call(&Connection::Configuration::WithdrawRelease, request).status());
    return CellNames();
  }
  absl::StatusOr<configuration::v1::PoolConfiguration> Promote(const std::string& pool_uid,
                                                               const std::string& profile,
                                                               bool dry_run) override {
    return OrderConfiguration(&Connection::Configuration::PromoteConfiguration, pool_uid, profile,
                              dry_run);
  }
  absl::StatusOr<configuration::v1::PoolConfiguration> Rollback(const std::string& pool_uid,
                                                                const std::string& profile,
                                                                bool dry_run) override {
    return OrderConfiguration(&Connection::Configuration::RollbackConfiguration, pool_uid, profile,
                              dry_run);
  }
  absl::StatusOr<configuration::v1::PoolConfiguration> EnableRevision(const std::string& pool_uid,
                                                                      const std::string& profile,
                                                                      bool dry_run) override {
    return OrderConfiguration(&Connection::Configuration::EnableRevision, pool_uid, profile,
                              dry_run);
  }
  absl::StatusOr<debug::v1::CompareStateResponse> CompareState() override {
    return connection_.Call(&Connection::Debug::CompareState, debug::v1::CompareStateRequest());
  }
  absl::StatusOr<ToldChanges> ListChanges(const ResourceId& resource, int limit,
                                          absl::Time since) override {
    ToldChanges told;
    ASSIGN_OR_RETURN(told.answer, musterctl::ListChanges(connection_, resource, limit, since));
    return told;
  }
  absl::StatusOr<std::vector<ToldPast>> GetPast(const ResourceId& resource,
                                                const Moment& then) override {
    std::vector<ToldPast> told(1);
    ASSIGN_OR_RETURN(told[0].answer, musterctl::GetPast(connection_, resource, then));
    return told;
  }
  absl::StatusOr<std::vector<Item>> ListPast(Kind kind, const std::string& pool,
                                             const Moment& then) override {
    return musterctl::ListPast(connection_, kind, pool, then);
  }
  absl::StatusOr<access::v1::GetCallerResponse> GetCaller() override {
    return connection_.Call(&Connection::Access::GetCaller, access::v1::GetCallerRequest());
  }
  absl::StatusOr<access::v1::CheckAccessResponse> CheckAccess(
      const access::v1::CheckAccessRequest& request) override {
    return connection_.Call(&Connection::Access::CheckAccess, request);
  }
  absl::StatusOr<debug::v1::LogLevel> GetLogLevel() override {
    ASSIGN_OR_RETURN(const auto response, connection_.Call(&Connection::Debug::GetLogLevel,
                                                           debug::v1::GetLogLevelRequest()));
    return response.level();
  }
  absl::StatusOr<debug::v1::LogLevel> SetLogLevel(debug::v1::LogLevel level) override {
    debug::v1::SetLogLevelRequest request;
    request.set_level(level);
    ASSIGN_OR_RETURN(const auto response,
                     connection_.Call(&Connection::Debug::SetLogLevel, request));
    return response.level();
  }
  absl::StatusOr<debug::v1::AuditBooksResponse> AuditBooks(
      const debug::v1::AuditBooksRequest& request) override {
    return connection_.Call(&Connection::Debug::AuditBooks, request);
  }
  absl::Status Watch(const WatchRange& range, const type::v1::WatchStart& start,
                     const WatchReceiver& receive) override {
    return WatchStream(connection_, range, start, receive);
  }
  absl::StatusOr<std::unique_ptr<FleetLink>> WatchFleet(page::WatchSink& sink) override {
    return OpenFleetLink(connection_, sink);
  }

 private:
  template <class Request>
  absl::StatusOr<configuration::v1::PoolConfiguration> OrderConfiguration(
      grpc::Status (Connection::Configuration::*method)(grpc::ClientContext*, const Request&,
                                                        configuration::v1::PoolConfiguration*),
      const std::string& pool_uid, const std::string& profile, bool dry_run) {
    Request request;
    request.set_name(absl::StrCat("poolConfigurations/", pool_uid));
    request.set_node_profile(profile);
    request.set_validate_only(dry_run);
    return connection_.Call(method, request);
  }
  // Calls a method whose request is a NodePool's name.
  template <class Request>
  absl::StatusOr<lifecycle::v1::NodePool> CallByName(
      grpc::Status (Connection::Lifecycle::*method)(grpc::ClientContext*, const Request&,
                                                    lifecycle::v1::NodePool*),
      const std::string& id, bool dry_run) {
    Request request;
    request.set_name(connection_.PoolName(id));
    request.set_validate_only(dry_run);
    return connection_.Call(method, request);
  }

  Connection connection_;
};

absl::StatusOr<lifecycle::v1::NodePool> GrpcApi::ControlReconfiguration(ReconfigurationVerb verb,
                                                                        const std::string& id,
                                                                        bool dry_run) {
  switch (verb) {
    case ReconfigurationVerb::kPause:
      return CallByName(&Connection::Lifecycle::PauseReconfiguration, id, dry_run);
    case ReconfigurationVerb::kResume:
      return CallByName(&Connection::Lifecycle::ResumeReconfiguration, id, dry_run);
    case ReconfigurationVerb::kCancel:
      return CallByName(&Connection::Lifecycle::CancelReconfiguration, id, dry_run);
  }
  return absl::InternalError("not a verb of reconfigurations");
}

absl::StatusOr<lifecycle::v1::Node> GrpcApi::UpdateNode(const std::string& pool,
                                                        const std::string& machine,
                                                        const lifecycle::v1::Node& changed,
                                                        const std::string& field, bool dry_run) {
  lifecycle::v1::UpdateNodeRequest request;
  *request.mutable_node() = changed;
  request.mutable_node()->set_name(absl::StrCat(connection_.PoolName(pool), "/nodes/", machine));
  request.mutable_update_mask()->add_paths(field);
  request.set_validate_only(dry_run);
  return connection_.Call(&Connection::Lifecycle::UpdateNode, request);
}

absl::StatusOr<lifecycle::v1::Node> GrpcApi::OrderNode(const std::string& pool,
                                                       const std::string& machine,
                                                       const NodeOrder& order) {
  const auto call = [&](auto method, auto request) {
    request.set_name(absl::StrCat(connection_.PoolName(pool), "/nodes/", machine));
    request.set_validate_only(order.validate_only);
    return connection_.Call(method, request);
  };
  switch (order.verb) {
    case NodeVerb::kCordon:
      return call(&Connection::Lifecycle::CordonNode, lifecycle::v1::CordonNodeRequest());
    case NodeVerb::kUncordon:
      return call(&Connection::Lifecycle::UncordonNode, lifecycle::v1::UncordonNodeRequest());
    case NodeVerb::kDrain: {
      lifecycle::v1::DrainNodeRequest request;
      request.set_force(order.force);
      return call(&Connection::Lifecycle::DrainNode, request);
    }
    case NodeVerb::kReboot: {
      lifecycle::v1::RebootNodeRequest request;
      request.set_mode(order.mode);
      return call(&Connection::Lifecycle::RebootNode, request);
    }
  }
  return absl::InternalError("not an order to Nodes");
}

absl::StatusOr<std::vector<lifecycle::v1::Event>> GrpcApi::PoolEvents(const std::string& name,
                                                                      const std::string& pool_uid) {
  lifecycle::v1::ListEventsRequest request;
  request.set_parent(ClusterOf(name));
  request.set_pool_uid(pool_uid);
  std::vector<Item> items;
  RETURN_IF_ERROR(connection_.Pages(
      &Connection::Lifecycle::ListEvents, request,
      [](auto& response) { return response.mutable_events(); }, Connection::CollectInto(items)));
  std::vector<lifecycle::v1::Event> events;
  for (Item& item : items) events.push_back(std::get<lifecycle::v1::Event>(std::move(item)));
  return events;
}

}  // namespace

absl::StatusOr<std::vector<Item>> Api::List(Kind kind, const ListRange& range) {
  std::vector<Item> all;
  RETURN_IF_ERROR(ListPages(kind, range, [&](std::vector<Item> items) {
    all.insert(all.end(), std::make_move_iterator(items.begin()),
               std::make_move_iterator(items.end()));
    return true;
  }));
  return all;
}

absl::StatusOr<std::vector<Item>> Api::GetEvery(Kind kind, const std::string& id) {
  std::vector<Item> found(1);
  ASSIGN_OR_RETURN(found[0], Get(kind, id));
  return found;
}

std::string RequestIdOf(const std::string& id, int order) {
  return client::NumberedId(id, order, 1);
}

std::unique_ptr<Api> Api::Create(const ApiOptions& options) {
  return std::make_unique<GrpcApi>(options);
}

}  // namespace muster::musterctl
