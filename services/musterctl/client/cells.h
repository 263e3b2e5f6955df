#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/musterctl/client/api.h"

namespace muster::musterctl {

// One of several cells (deploy/cells.md).
struct Cell {
  std::string name = {};  // of its context
  std::shared_ptr<Api> api = {};
};

// Several cells as one, which know nothing of each other:
// - What is read is what all of them say, each resource with its cell; what one does not answer hides nothing of the others.
// - A change goes to the one cell that has what is changed: of a NodePool that with its cluster, of what is in a zone
//   that with the zone. FAILED_PRECONDITION where none or several have it, or one that may have it does not answer.
// - Releases and instance types go to all.
// - All else is of one cell: FAILED_PRECONDITION, naming --context.
// A cell that did not answer is not asked again. Not thread-safe.
class CellsApi final : public Api {
 public:
  // Is given the error of each cell that did not answer, and its name in it.
  using Tell = std::function<void(const absl::Status& error)>;

  CellsApi(std::vector<Cell> cells, Tell tell) : cells_(std::move(cells)), tell_(std::move(tell)) {}

  // A cell did not answer, and what the others said was taken for all.
  bool is_partial() const { return is_partial_; }

  absl::Status ListPages(Kind kind, const ListRange& range, const PageReceiver& receive) override;
  absl::StatusOr<std::vector<Item>> ListMachines(
      const capacity::v1::ListMachinesRequest& filter) override;
  absl::StatusOr<Item> Get(Kind kind, const std::string& id) override;
  absl::StatusOr<std::vector<Item>> GetEvery(Kind kind, const std::string& id) override;
  absl::StatusOr<lifecycle::v1::NodePool> GetNodePool(const std::string& id) override;
  absl::StatusOr<std::vector<lifecycle::v1::Event>> PoolEvents(
      const std::string& name, const std::string& pool_uid) override;
  absl::StatusOr<Applied> Apply(const Resource& resource, const WriteMode& mode) override;
  absl::StatusOr<Applied> UpdateNodePool(const lifecycle::v1::NodePool& pool,
                                         const std::vector<std::string>& paths,
                                         const WriteMode& mode) override;
  absl::StatusOr<lifecycle::v1::NodePool> DeleteNodePool(const std::string& id,
                                                         bool dry_run) override;
  absl::StatusOr<lifecycle::v1::NodePool> Resize(
      lifecycle::v1::ResizeNodePoolRequest request) override;
  absl::StatusOr<lifecycle::v1::NodePool> Reconfigure(
      lifecycle::v1::ReconfigureNodePoolRequest request) override;
  absl::StatusOr<lifecycle::v1::NodePool> ControlReconfiguration(ReconfigurationVerb verb,
                                                                 const std::string& id,
                                                                 bool dry_run) override;
  absl::StatusOr<lifecycle::v1::Node> UpdateNode(const std::string& pool,
                                                 const std::string& machine,
                                                 const lifecycle::v1::Node& changed,
                                                 const std::string& field, bool dry_run) override;
  absl::StatusOr<lifecycle::v1::Node> OrderNode(const std::string& pool, const std::string& machine,
                                                const NodeOrder& order) override;
  absl::StatusOr<lifecycle::v1::Cluster> BindCluster(
      lifecycle::v1::BindClusterRequest request) override;
  absl::StatusOr<lifecycle::v1::Cluster> AllowRemovals(
      lifecycle::v1::AllowRemovalsRequest request) override;
  absl::StatusOr<lifecycle::v1::ExplainNodePoolResponse> ExplainNodePool(
      const std::string& id) override;
  absl::Status DeleteItem(const ResourceId& resource, bool dry_run) override;
  absl::StatusOr<quota::v1::CheckQuotaResponse> CheckQuota(
      const quota::v1::CheckQuotaRequest& request) override;
  absl::StatusOr<capacity::v1::ExplainClaimResponse> ExplainClaim(
      const std::string& pool_uid) override;
  absl::StatusOr<capacity::v1::FindPlacementsResponse> FindPlacements(
      const capacity::v1::FindPlacementsRequest& request) override;
  absl::StatusOr<CellNames> PublishRelease(const std::string& name, bool dry_run) override;
  absl::StatusOr<CellNames> WithdrawRelease(const std::string& name, bool dry_run) override;
  absl::StatusOr<configuration::v1::PoolConfiguration> Promote(const std::string& pool_uid,
                                                               const std::string& profile,
                                                               bool dry_run) override;
  absl::StatusOr<configuration::v1::PoolConfiguration> Rollback(const std::string& pool_uid,
                                                                const std::string& profile,
                                                                bool dry_run) override;
  absl::StatusOr<configuration::v1::PoolConfiguration> EnableRevision(const std::string& pool_uid,
                                                                      const std::string& profile,
                                                                      bool dry_run) override;
  absl::StatusOr<history::v1::ListChangesResponse> ListChanges(const ResourceId& resource,
                                                               int limit,
                                                               absl::Time since) override;
  absl::StatusOr<history::v1::GetPastResponse> GetPast(const ResourceId& resource,
                                                       const Moment& then) override;
  absl::StatusOr<std::vector<Item>> ListPast(Kind kind, const std::string& pool,
                                             const Moment& then) override;
  absl::StatusOr<access::v1::GetCallerResponse> GetCaller() override;
  absl::StatusOr<access::v1::CheckAccessResponse> CheckAccess(
      const access::v1::CheckAccessRequest& request) override;
  absl::StatusOr<debug::v1::CompareStateResponse> CompareState() override;
  absl::StatusOr<debug::v1::AuditBooksResponse> AuditBooks(
      const debug::v1::AuditBooksRequest& request) override;
  absl::StatusOr<debug::v1::LogLevel> GetLogLevel() override;
  absl::StatusOr<debug::v1::LogLevel> SetLogLevel(debug::v1::LogLevel level) override;
  absl::Status Watch(const WatchRange& range, const type::v1::WatchStart& start,
                     const WatchReceiver& receive) override;
  absl::StatusOr<std::unique_ptr<FleetLink>> WatchFleet(page::WatchSink& sink) override;

 private:
  // What came of asking every cell once.
  struct Round {
    std::vector<const Cell*> answered = {};                           // with OK
    absl::Status missing = {};                                        // a NOT_FOUND, if one said so
    std::vector<std::pair<const Cell*, absl::Status>> failures = {};  // all else
    bool is_whole = true;  // all cells answered, with OK or NOT_FOUND
  };
  // Where a resource is.
  struct Home {
    const Cell* cell = nullptr;
    bool is_sure = false;  // all others said that they have it not
  };

  Round AskEach(absl::FunctionRef<absl::Status(const Cell&)> ask);
  // Tells of failures where others answered. Where nobody did: the last one's error.
  absl::Status Conclude(const Round& round);
  // Asks each; what all of them do not have is missing.
  absl::Status ReadEach(absl::FunctionRef<absl::Status(const Cell&)> ask);
  // Changes something that is in all cells alike; where it was done.
  absl::StatusOr<CellNames> ChangeEach(absl::FunctionRef<absl::Status(Api&)> change);
  // The cell that has it, to ask more of it; or to change it, or what is in it.
  absl::StatusOr<Home> Find(const ResourceId& resource);
  absl::StatusOr<Api*> ToAsk(const ResourceId& resource);
  absl::StatusOr<Home> FindForChange(const ResourceId& resource);
  absl::StatusOr<Api*> ToChange(const ResourceId& resource);
  absl::StatusOr<Applied> ApplyToEach(const Resource& resource, const WriteMode& mode);
  // Refuses a cluster that another cell has.
  absl::Status CheckMove(const lifecycle::v1::Cluster& cluster, const Cell& cell);
  const Home* Known(Kind kind, const std::string& id) const;
  absl::Status OneCellOnly(absl::string_view what) const;

  const std::vector<Cell> cells_;
  const Tell tell_;
  std::map<std::pair<Kind, std::string>, Home> homes_;  // by id and by name, as they were asked for
  std::set<const Cell*> away_;
  bool is_partial_ = false;
};

}  // namespace muster::musterctl
