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

// Several cells as one, which know nothing of each other:
// - All are asked at the same time, and what they say stands in their order.
// - What is read is what all of them say, each resource with its cell; what one does not answer hides nothing of the others.
// - Of what was, times are theirs to tell, revisions are not: each cell has its own.
// - A change goes to the one cell that has what is changed: of a NodePool that with its cluster, of what is in a zone
//   that with the zone. FAILED_PRECONDITION where none or several have it, or one that may have it does not answer.
// - Releases and instance types go to all, and are deleted from all that have them. An instance type is edited and patched in one cell: what
//   is shown is one cell's.
// - All else is of one cell: FAILED_PRECONDITION, naming --context. Watches are of each cell by itself: Session::cells.
// A cell that did not answer is told of once, and not asked again before AskAgain. Not thread-safe.
class CellsApi final : public Api {
 public:
  // Is given the error of each cell that did not answer, and its name in it.
  using Tell = std::function<void(const absl::Status& error)>;

  CellsApi(std::vector<Cell> cells, Tell tell) : cells_(std::move(cells)), tell_(std::move(tell)) {}

  // A cell did not answer, and what the others said was taken for all.
  bool is_partial() const { return is_partial_; }

  void AskAgain() override { away_.clear(); }
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
  // All zones, best first as one cell has them; zones that are named are asked of the cells that have them.
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
  // What came of asking every cell once.
  struct Round {
    std::vector<const Cell*> answered = {};                           // with OK
    absl::Status missing = {};                                        // a NOT_FOUND, if one said so
    std::vector<std::pair<const Cell*, absl::Status>> failures = {};  // all else
    bool is_whole = true;  // all cells answered, with OK or NOT_FOUND

    // All that failed failed alike.
    bool is_one_failure() const;
  };
  // Where a resource is.
  struct Home {
    const Cell* cell = nullptr;
    bool is_sure = false;  // all others said that they have it not
  };

  // What a cell said.
  template <class T>
  struct Answer {
    const Cell* cell = nullptr;
    T said = {};
  };

  // Those that are not away.
  std::vector<const Cell*> Present() const;
  // What came of asking these, which said so.
  Round RoundOf(const std::vector<const Cell*>& asked, const std::vector<absl::Status>& said) const;
  // What `is_none` counts as an answer that says nothing.
  void PassOver(Round& round, absl::FunctionRef<bool(const absl::Status&)> is_none) const;
  // Asks each that is not away, all at the same time; `answers` are in the order of the cells.
  template <class T, class Ask>
  Round AskEach(const Ask& ask, std::vector<Answer<T>>& answers) const;
  // What passes by is told of once: who waits asks again and again.
  void TellOf(const Cell& cell, const absl::Status& error);
  // Tells of failures where others answered. Where nobody did: the last one's error.
  absl::Status TellFailures(const Round& round);
  // The same; what the others said is taken for all.
  absl::Status Conclude(const Round& round);
  // The same, for a change that each cell was asked for: what one refuses comes before what another has not. OK: one has done it.
  absl::Status ConcludeChange(Round round);
  // As Conclude; what all of them do not have is missing.
  absl::Status ConcludeRead(const Round& round);
  // Why nobody has it: none does, or one that may have it does not answer. That passes by, unless one refuses to.
  static absl::Status NobodyHas(const ResourceId& resource, const Round& round);
  // Asks each; what all of them do not have is missing.
  template <class T, class Ask>
  absl::StatusOr<std::vector<Answer<T>>> ReadEach(const Ask& ask);
  // Resources of each, with its name.
  template <class Ask>
  absl::StatusOr<std::vector<Item>> ReadItems(const Ask& ask);
  // Changes something that is in all cells alike; where it was done.
  absl::StatusOr<CellNames> ChangeEach(absl::FunctionRef<absl::Status(Api&)> change);
  // The zones that are asked for, by the cells that have them; empty: all.
  absl::StatusOr<std::map<const Cell*, std::vector<std::string>>> ZonesByCell(
      const capacity::v1::FindPlacementsRequest& request);
  // Of where Nodes are to be had: a cell that refuses what another one answers has no zones for it, as its catalogue lacks the
  // instance type. Where all refuse, each for a reason of its own, the first one's is left.
  void PassOverRefusals(Round& round) const;
  absl::Status CheckMoment(const Moment& then) const;
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
  std::set<const Cell*> told_;  // something that passes by
  bool is_partial_ = false;
};

CellNames NamesOf(const std::vector<Cell>& cells);
// FAILED_PRECONDITION: `what` ("nodepool/train is") stands in those; `meant` is one of them, for example.
absl::Status InSeveral(absl::string_view what, const CellNames& names, const std::string& meant);
// The same error, naming the cell.
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
