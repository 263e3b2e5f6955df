#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "muster/access/v1/access_service.pb.h"
#include "muster/capacity/v1/capacity_service.pb.h"
#include "muster/debug/v1/debug_service.pb.h"
#include "muster/history/v1/history_service.pb.h"
#include "muster/lifecycle/v1/lifecycle_service.pb.h"
#include "muster/quota/v1/quota_service.pb.h"
#include "muster/type/v1/watch.pb.h"
#include "services/musterctl/client/api_types.h"
#include "services/musterctl/client/fleet_link.h"
#include "services/musterctl/manifest/kinds.h"
#include "services/musterctl/manifest/resources.h"

namespace muster::musterctl {

// Muster's API for a person: one blocking call a method, each with a deadline. A mutation that
// takes a request_id bears one, and is repeated a few times under it when nobody knows what became
// of it. Errors carry the server's details (errors.h). Thread-safe.
class Api {
 public:
  static std::unique_ptr<Api> Create(const ApiOptions& options);
  virtual ~Api() = default;

  // For whoever waits, before the next look: of several cells those that did not answer are asked anew.
  virtual void AskAgain() {}
  // What is asked from here on belongs to the `number`th order of a line of several, from 1: see client::Client. Not beside other calls.
  virtual void BeginOrder(int) {}

  // Every resource of a kind in the scope and the range, by name, as the pages come. In the scope `-` is all organizations, all
  // clusters.
  virtual absl::Status ListPages(Kind kind, const ListRange& range,
                                 const PageReceiver& receive) = 0;
  // The same at once.
  absl::StatusOr<std::vector<Item>> List(Kind kind, const ListRange& range);
  absl::StatusOr<std::vector<Item>> List(Kind kind, const std::string& pool) {
    return List(kind, ListRange{.pool = pool});
  }
  // Machines that match the filter, by name; its page fields are not read.
  virtual absl::StatusOr<std::vector<Item>> ListMachines(
      const capacity::v1::ListMachinesRequest& filter) = 0;
  // One by its id, or its whole name; of a Node POOL/MACHINE, or the machine alone.
  virtual absl::StatusOr<Item> Get(Kind kind, const std::string& id) = 0;
  // The same of every cell that has one, of several cells (cells.h). At least one.
  virtual absl::StatusOr<std::vector<Item>> GetEvery(Kind kind, const std::string& id);
  virtual absl::StatusOr<lifecycle::v1::NodePool> GetNodePool(const std::string& id) = 0;
  // Events about the pool and its Nodes; `name`: its whole name, or that of one of its Nodes.
  virtual absl::StatusOr<std::vector<lifecycle::v1::Event>> PoolEvents(
      const std::string& name, const std::string& pool_uid) = 0;

  // With `dry_run` (`validate_only`) the server checks and writes nothing: the answer is what would
  // come of it, with a preview where it is a NodePool's.
  virtual absl::StatusOr<Applied> Apply(const Resource& resource, const WriteMode& mode) = 0;
  absl::StatusOr<Applied> Apply(const Resource& resource, bool dry_run) {
    return Apply(resource, WriteMode{.dry_run = dry_run});
  }
  // Makes the fields of a NodePool's spec that `paths` name, e.g. `spec.target_nodes`, as they are in
  // `pool`, which bears its whole name, the etag that it must have and the generation that it was read at.
  virtual absl::StatusOr<Applied> UpdateNodePool(const lifecycle::v1::NodePool& pool,
                                                 const std::vector<std::string>& paths,
                                                 const WriteMode& mode) = 0;
  virtual absl::StatusOr<lifecycle::v1::NodePool> DeleteNodePool(const std::string& id,
                                                                 bool dry_run) = 0;
  // `name` of these requests is the pool's id, or its whole name.
  virtual absl::StatusOr<lifecycle::v1::NodePool> Resize(
      lifecycle::v1::ResizeNodePoolRequest request) = 0;
  virtual absl::StatusOr<lifecycle::v1::NodePool> Reconfigure(
      lifecycle::v1::ReconfigureNodePoolRequest request) = 0;
  virtual absl::StatusOr<lifecycle::v1::NodePool> ControlReconfiguration(ReconfigurationVerb verb,
                                                                         const std::string& id,
                                                                         bool dry_run) = 0;
  // Writes that field of the Node as it is in `changed`. The pool by its id or whole name.
  virtual absl::StatusOr<lifecycle::v1::Node> UpdateNode(const std::string& pool,
                                                         const std::string& machine,
                                                         const lifecycle::v1::Node& changed,
                                                         const std::string& field,
                                                         bool dry_run) = 0;
  virtual absl::StatusOr<lifecycle::v1::Node> OrderNode(const std::string& pool,
                                                        const std::string& machine,
                                                        const NodeOrder& order) = 0;
  // By its id. The answer is the machine as it is then: one that became free may be held at once.
  virtual absl::StatusOr<capacity::v1::Machine> SetMachineState(const std::string& machine,
                                                                capacity::v1::Machine::State state,
                                                                bool dry_run) = 0;
  // `name` of these requests is the cluster's id.
  virtual absl::StatusOr<lifecycle::v1::Cluster> BindCluster(
      lifecycle::v1::BindClusterRequest request) = 0;
  virtual absl::StatusOr<lifecycle::v1::Cluster> AllowRemovals(
      lifecycle::v1::AllowRemovalsRequest request) = 0;
  virtual absl::StatusOr<lifecycle::v1::ExplainNodePoolResponse> ExplainNodePool(
      const std::string& id) = 0;
  // Of a cluster, quota, zone, instance type, machine or release; refused while it is used. The answer of what goes to all cells is where it
  // was done.
  virtual absl::StatusOr<CellNames> DeleteItem(const ResourceId& resource, bool dry_run) = 0;

  // What would come of these requests, in their order; nothing is written.
  virtual absl::StatusOr<quota::v1::CheckQuotaResponse> CheckQuota(
      const quota::v1::CheckQuotaRequest& request) = 0;

  virtual absl::StatusOr<capacity::v1::ExplainClaimResponse> ExplainClaim(
      const std::string& pool_uid) = 0;
  virtual absl::StatusOr<FoundPlacements> FindPlacements(
      const capacity::v1::FindPlacementsRequest& request) = 0;

  // Releases by resource name, the answer where it was done; pools by uid. An empty profile is `pending` or `previous`.
  virtual absl::StatusOr<CellNames> PublishRelease(const std::string& name, bool dry_run) = 0;
  virtual absl::StatusOr<CellNames> WithdrawRelease(const std::string& name, bool dry_run) = 0;
  virtual absl::StatusOr<configuration::v1::PoolConfiguration> Promote(const std::string& pool_uid,
                                                                       const std::string& profile,
                                                                       bool dry_run) = 0;
  virtual absl::StatusOr<configuration::v1::PoolConfiguration> Rollback(const std::string& pool_uid,
                                                                        const std::string& profile,
                                                                        bool dry_run) = 0;
  virtual absl::StatusOr<configuration::v1::PoolConfiguration> EnableRevision(
      const std::string& pool_uid, const std::string& profile, bool dry_run) = 0;

  // What became of a resource, the newest change first: at most `limit`, none before `since`.
  virtual absl::StatusOr<ToldChanges> ListChanges(const ResourceId& resource, int limit,
                                                  absl::Time since) = 0;
  // As it was then, in every cell that had one. At least one.
  virtual absl::StatusOr<std::vector<ToldPast>> GetPast(const ResourceId& resource,
                                                        const Moment& then) = 0;

  // All of a kind in the scope as they were then: clusters, NodePools, Nodes (of the NodePool `pool`; empty: all), events, quotas.
  virtual absl::StatusOr<std::vector<Item>> ListPast(Kind kind, const std::string& pool,
                                                     const Moment& then) = 0;

  // Who the caller is to the server and what it may do, and what the server is.
  virtual absl::StatusOr<access::v1::GetCallerResponse> GetCaller() = 0;
  virtual absl::StatusOr<access::v1::CheckAccessResponse> CheckAccess(
      const access::v1::CheckAccessRequest& request) = 0;

  virtual absl::StatusOr<debug::v1::CompareStateResponse> CompareState() = 0;
  virtual absl::StatusOr<debug::v1::AuditBooksResponse> AuditBooks(
      const debug::v1::AuditBooksRequest& request) = 0;
  virtual absl::StatusOr<debug::v1::LogLevel> GetLogLevel() = 0;
  // What it is by now.
  virtual absl::StatusOr<debug::v1::LogLevel> SetLogLevel(debug::v1::LogLevel level) = 0;

  // One Watch stream over the range in the scope, until it breaks (its error; UNAVAILABLE when the server ended
  // it) or `receive` returns false (OK). Without a revision in `start` it begins with a
  // snapshot, within a call's timeout (DEADLINE_EXCEEDED). No deadline for the whole.
  virtual absl::Status Watch(const WatchRange& range, const type::v1::WatchStart& start,
                             const WatchReceiver& receive) = 0;
  // Keeps the sink, which must outlive the link, level with the whole fleet.
  virtual absl::StatusOr<std::unique_ptr<FleetLink>> WatchFleet(page::WatchSink& sink) = 0;
};

// One of several cells (deploy/cells.md).
struct Cell {
  std::string name = {};  // of its context
  std::shared_ptr<Api> api = {};
};

// The request_id of the first mutation of that order (Api::BeginOrder) of a line whose ApiOptions::request_id is `id`.
std::string RequestIdOf(const std::string& id, int order);

}  // namespace muster::musterctl
