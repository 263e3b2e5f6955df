#pragma once

#include <cstddef>
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
#include "services/common/status_macros.h"
#include "services/musterctl/client/api.h"
#include "services/musterctl/client/side_by_side.h"

namespace muster::musterctl {

// The Api of several cells, which know nothing of each other, as if they were one server:
// - All cells are asked at the same time; their answers are put together in the order of the cells.
// - A read returns what all cells have, each resource with its cell. A cell that does not answer
//   hides nothing of the others.
// - The past is asked for by a time. A revision is refused: each cell counts its own.
// - A change goes to the one cell that has the resource: for a NodePool the cell of its cluster,
//   for what is in a zone the cell of the zone. FAILED_PRECONDITION: no cell or several have it, or
//   one that may have it does not answer.
// - Releases and instance types are applied to all cells, and deleted from all that have them. An
//   instance type is edited and patched in one cell, because an editor shows one cell's.
// - Everything else needs one cell: FAILED_PRECONDITION, naming --context. Each cell is watched by
//   itself: Session::cells.
// A cell that did not answer is reported once, and not asked again before AskAgain. Not
// thread-safe.
class CellsApi final : public Api {
 public:
  // Called with each cell's error that is not returned; the error names the cell.
  using Tell = std::function<void(const absl::Status& error)>;

  CellsApi(std::vector<Cell> cells, Tell tell) : cells_(std::move(cells)), tell_(std::move(tell)) {}

  // Whether a result was complete for some cells only: a cell failed, and the answers of the others
  // were used.
  bool is_partial() const { return is_partial_; }

  void AskAgain() override { away_.clear(); }
  void EndWithin(absl::Duration left) override {
    for (const Cell& cell : cells_) cell.api->EndWithin(left);
  }
  void BeginOrder(int number) override {
    for (const Cell& cell : cells_) cell.api->BeginOrder(number);
  }
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
  absl::StatusOr<capacity::v1::Machine> SetMachineState(const std::string& machine,
                                                        capacity::v1::Machine::State state,
                                                        bool dry_run) override;
  absl::StatusOr<lifecycle::v1::Cluster> BindCluster(
      lifecycle::v1::BindClusterRequest request) override;
  absl::StatusOr<lifecycle::v1::Cluster> AllowRemovals(
      lifecycle::v1::AllowRemovalsRequest request) override;
  absl::StatusOr<lifecycle::v1::ExplainNodePoolResponse> ExplainNodePool(
      const std::string& id) override;
  absl::StatusOr<CellNames> DeleteItem(const ResourceId& resource, bool dry_run) override;
  absl::StatusOr<quota::v1::CheckQuotaResponse> CheckQuota(
      const quota::v1::CheckQuotaRequest& request) override;
  absl::StatusOr<capacity::v1::ExplainClaimResponse> ExplainClaim(
      const std::string& pool_uid) override;
  // The zones of all cells, merged best first. If the request names zones, only the cells that have
  // them are asked.
  absl::StatusOr<FoundPlacements> FindPlacements(
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
  absl::StatusOr<ToldChanges> ListChanges(const ResourceId& resource, int limit,
                                          absl::Time since) override;
  absl::StatusOr<std::vector<ToldPast>> GetPast(const ResourceId& resource,
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
  // The results of asking every cell once.
  struct Round {
    std::vector<const Cell*> answered = {};                           // with OK
    absl::Status missing = {};                                        // a NOT_FOUND, if one said so
    std::vector<std::pair<const Cell*, absl::Status>> failures = {};  // all else
    bool is_whole = true;  // all cells answered, with OK or NOT_FOUND

    // Whether all failures are the same error.
    bool is_one_failure() const;
  };
  // The cell that has a resource.
  struct Home {
    const Cell* cell = nullptr;
    bool is_sure = false;  // all other cells answered that they do not have it
  };

  // What a cell said.
  template <class T>
  struct Answer {
    const Cell* cell = nullptr;
    T said = {};
  };

  // The cells that are not in `away_`.
  std::vector<const Cell*> Present() const;
  // Sorts the cells `asked` by the status that each of them returned (`said`, in the same order).
  Round RoundOf(const std::vector<const Cell*>& asked, const std::vector<absl::Status>& said) const;
  // Drops the failures for which `is_none` is true from the round, as if these cells had nothing to
  // say.
  void PassOver(Round& round, absl::FunctionRef<bool(const absl::Status&)> is_none) const;
  // Asks each cell that is not away, all at the same time; `answers` are in the order of the cells.
  template <class T, class Ask>
  Round AskEach(const Ask& ask, std::vector<Answer<T>>& answers) const;
  // Reports a cell's error. A temporary one (PassesBy) only once for each cell: a command that
  // waits asks again and again.
  void TellOf(const Cell& cell, const absl::Status& error);
  // OK if any cell answered, with the failures of the others reported. If none did: the last cell's
  // error, the others reported.
  absl::Status TellFailures(const Round& round);
  // TellFailures, and marks the result as partial if a cell is missing from it.
  absl::Status Conclude(const Round& round);
  // Conclude, for a change that every cell was asked for: the error of a cell that refused it comes
  // before the NOT_FOUND of another. OK if a cell has done it.
  absl::Status ConcludeChange(Round round);
  // Conclude; NOT_FOUND if every cell said so.
  absl::Status ConcludeRead(const Round& round);
  // The error when no cell returned the resource: NOT_FOUND if every cell said so, else that it is
  // in none of those that answered, which may pass (KnownByOthers) unless a cell refused for good.
  static absl::Status NobodyHas(const ResourceId& resource, const Round& round);
  // Asks each cell. NOT_FOUND if every cell said so.
  template <class T, class Ask>
  absl::StatusOr<std::vector<Answer<T>>> ReadEach(const Ask& ask);
  // The resources of all cells, each marked with its cell.
  template <class Ask>
  absl::StatusOr<std::vector<Item>> ReadItems(const Ask& ask);
  // Changes something that all cells have alike. Returns the cells in which it was done.
  absl::StatusOr<CellNames> ChangeEach(absl::FunctionRef<absl::Status(Api&)> change);
  // The zones that the request names, by the cells that have them; empty: the request names none,
  // which means all.
  absl::StatusOr<std::map<const Cell*, std::vector<std::string>>> ZonesByCell(
      const capacity::v1::FindPlacementsRequest& request);
  // For FindPlacements: a cell that refuses a request which another one answers counts as having no
  // zones for it, as its catalogue lacks the instance type. If all refuse for different reasons,
  // only the first one's is kept.
  void PassOverRefusals(Round& round) const;
  absl::Status CheckMoment(const Moment& then) const;
  // The cell that has the resource: Find and ToAsk for reading. FindForChange and ToChange, for
  // changing it or what is in it, fail if another cell may have it too.
  absl::StatusOr<Home> Find(const ResourceId& resource);
  absl::StatusOr<Api*> ToAsk(const ResourceId& resource);
  absl::StatusOr<Home> FindForChange(const ResourceId& resource);
  absl::StatusOr<Api*> ToChange(const ResourceId& resource);
  absl::StatusOr<Applied> ApplyToEach(const Resource& resource, const WriteMode& mode);
  // FAILED_PRECONDITION: another cell than `cell` has the cluster.
  absl::Status CheckMove(const lifecycle::v1::Cluster& cluster, const Cell& cell);
  const Home* Known(Kind kind, const std::string& id) const;
  absl::Status OneCellOnly(absl::string_view what) const;

  const std::vector<Cell> cells_;
  const Tell tell_;
  // By the id that was asked for, and by the resource name.
  std::map<std::pair<Kind, std::string>, Home> homes_;
  std::set<const Cell*> away_;  // did not answer; not asked before AskAgain
  std::set<const Cell*> told_;  // a temporary error of theirs was reported
  bool is_partial_ = false;
};

CellNames NamesOf(const std::vector<Cell>& cells);
// FAILED_PRECONDITION: `what` ("nodepool/train is") in the cells `names`; `meant` is the one that
// the message suggests.
absl::Status InSeveral(absl::string_view what, const CellNames& names, const std::string& meant);
// The same error with the cell's name in its message and field violations.
absl::Status InCell(const std::string& cell, const absl::Status& status);

template <class T, class Ask>
CellsApi::Round CellsApi::AskEach(const Ask& ask, std::vector<Answer<T>>& answers) const {
  const std::vector<const Cell*> asked = Present();
  std::vector<absl::StatusOr<T>> all =
      SideBySide(asked, [&](const Cell* cell) -> absl::StatusOr<T> { return ask(*cell); });
  std::vector<absl::Status> said;
  for (size_t i = 0; i < all.size(); ++i) {
    said.push_back(all[i].status());
    if (all[i].ok()) answers.push_back({asked[i], *std::move(all[i])});
  }
  return RoundOf(asked, said);
}

template <class T, class Ask>
absl::StatusOr<std::vector<CellsApi::Answer<T>>> CellsApi::ReadEach(const Ask& ask) {
  std::vector<Answer<T>> answers;
  RETURN_IF_ERROR(ConcludeRead(AskEach(ask, answers)));
  return answers;
}

template <class Ask>
absl::StatusOr<std::vector<Item>> CellsApi::ReadItems(const Ask& ask) {
  ASSIGN_OR_RETURN(std::vector<Answer<std::vector<Item>>> answers,
                   ReadEach<std::vector<Item>>(ask));
  std::vector<Item> all;
  for (Answer<std::vector<Item>>& answer : answers) {
    for (Item& item : answer.said) {
      item.cell = answer.cell->name;
      all.push_back(std::move(item));
    }
  }
  return all;
}

}  // namespace muster::musterctl
