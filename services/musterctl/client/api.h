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

// Muster's API for a person: each method is a blocking call with a deadline. A mutation that has a
// request_id field is sent with one, and repeated with the same one a few times while it is not
// known whether it was done. Errors carry the server's details (errors.h). Thread-safe.
class Api {
 public:
  static std::unique_ptr<Api> Create(const ApiOptions& options);
  virtual ~Api() = default;

  // To be called by a command that waits, before it looks again: cells that did not answer are
  // asked again from then on.
  virtual void AskAgain() {}
  // The calls that follow end within that time: see client::Client. Not to be called while another
  // call is under way.
  virtual void EndWithin(absl::Duration) {}
  // The calls that follow belong to order `number` (from 1) of a command line that gives several:
  // see client::Client. Not to be called while another call is under way.
  virtual void BeginOrder(int) {}

  // Passes every resource of a kind in the scope and the range, sorted by name, to `receive` page
  // by page. `-` in the scope means all organizations, or all clusters.
  virtual absl::Status ListPages(Kind kind, const ListRange& range,
                                 const PageReceiver& receive) = 0;
  // The same, all in one vector.
  absl::StatusOr<std::vector<Item>> List(Kind kind, const ListRange& range);
  absl::StatusOr<std::vector<Item>> List(Kind kind, const std::string& pool) {
    return List(kind, ListRange{.pool = pool});
  }
  // The machines that match the filter, sorted by name; the page fields of `filter` are ignored.
  virtual absl::StatusOr<std::vector<Item>> ListMachines(
      const capacity::v1::ListMachinesRequest& filter) = 0;
  // One resource by its id or whole name; a Node also as POOL/MACHINE or by its machine alone.
  virtual absl::StatusOr<Item> Get(Kind kind, const std::string& id) = 0;
  // The same from every cell that has it, where there are several (cells.h). Never empty.
  virtual absl::StatusOr<std::vector<Item>> GetEvery(Kind kind, const std::string& id);
  virtual absl::StatusOr<lifecycle::v1::NodePool> GetNodePool(const std::string& id) = 0;
  // Events about the pool and its Nodes; `name`: its whole name, or that of one of its Nodes.
  virtual absl::StatusOr<std::vector<lifecycle::v1::Event>> PoolEvents(
      const std::string& name, const std::string& pool_uid) = 0;

  // With `dry_run` (`validate_only`) the server checks and writes nothing: the answer is what would
  // be there afterwards, for a NodePool with a preview.
  virtual absl::StatusOr<Applied> Apply(const Resource& resource, const WriteMode& mode) = 0;
  absl::StatusOr<Applied> Apply(const Resource& resource, bool dry_run) {
    return Apply(resource, WriteMode{.dry_run = dry_run});
  }
  // Sets the fields of a NodePool's spec that `paths` name, e.g. `spec.target_nodes`, to those of
  // `pool`, which has the whole name, the etag that the NodePool must have, and the generation at
  // which it was read.
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
  // Sets the Node's field `field` to that of `changed`. `pool` is an id or a whole name.
  virtual absl::StatusOr<lifecycle::v1::Node> UpdateNode(const std::string& pool,
                                                         const std::string& machine,
                                                         const lifecycle::v1::Node& changed,
                                                         const std::string& field,
                                                         bool dry_run) = 0;
  virtual absl::StatusOr<lifecycle::v1::Node> OrderNode(const std::string& pool,
                                                        const std::string& machine,
                                                        const NodeOrder& order) = 0;
  // `machine` is an id. Returns the machine after the change: one that became free may be held
  // already.
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
  // Deletes a cluster, quota, zone, instance type, machine or release; refused while it is in use.
  // For releases and instance types, which several cells have, returns the cells in which it was
  // deleted.
  virtual absl::StatusOr<CellNames> DeleteItem(const ResourceId& resource, bool dry_run) = 0;

  // How quota would answer these requests one after the other; nothing is written.
  virtual absl::StatusOr<quota::v1::CheckQuotaResponse> CheckQuota(
      const quota::v1::CheckQuotaRequest& request) = 0;

  virtual absl::StatusOr<capacity::v1::ExplainClaimResponse> ExplainClaim(
      const std::string& pool_uid) = 0;
  virtual absl::StatusOr<FoundPlacements> FindPlacements(
      const capacity::v1::FindPlacementsRequest& request) = 0;

  // Releases are named by resource name (returned: the cells in which it was done), pools by uid.
  // An empty profile means the pending one (Promote) or the previous one (Rollback).
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

  // The changes of a resource, the newest first: at most `limit`, none before `since`.
  virtual absl::StatusOr<ToldChanges> ListChanges(const ResourceId& resource, int limit,
                                                  absl::Time since) = 0;
  // The resource as it was then, from every cell that had it. Never empty.
  virtual absl::StatusOr<std::vector<ToldPast>> GetPast(const ResourceId& resource,
                                                        const Moment& then) = 0;

  // All of a kind in the scope as they were then: clusters, NodePools, Nodes (of the NodePool
  // `pool`; empty: all), events, quotas.
  virtual absl::StatusOr<std::vector<Item>> ListPast(Kind kind, const std::string& pool,
                                                     const Moment& then) = 0;

  // As whom the server knows the caller, what the caller may do, and what the server is.
  virtual absl::StatusOr<access::v1::GetCallerResponse> GetCaller() = 0;
  virtual absl::StatusOr<access::v1::CheckAccessResponse> CheckAccess(
      const access::v1::CheckAccessRequest& request) = 0;

  virtual absl::StatusOr<debug::v1::CompareStateResponse> CompareState() = 0;
  virtual absl::StatusOr<debug::v1::AuditBooksResponse> AuditBooks(
      const debug::v1::AuditBooksRequest& request) = 0;
  virtual absl::StatusOr<debug::v1::LogLevel> GetLogLevel() = 0;
  // Returns the level after the change.
  virtual absl::StatusOr<debug::v1::LogLevel> SetLogLevel(debug::v1::LogLevel level) = 0;

  // One Watch stream over the range in the scope, until it breaks (its error; UNAVAILABLE when the
  // server ended it) or `receive` returns false (OK). Without a revision in `start` it begins with
  // a snapshot, within a call's timeout (DEADLINE_EXCEEDED). No deadline for the whole.
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

// The request_id of the first mutation of order `order` (Api::BeginOrder) of a command line whose
// ApiOptions::request_id is `id`.
std::string RequestIdOf(const std::string& id, int order);

}  // namespace muster::musterctl
