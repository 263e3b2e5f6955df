#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/api.h"
#include "services/musterctl/client/errors.h"

namespace muster::musterctl {

// For tests: an Api of plain members.
class FakeApi final : public Api {
 public:
  void EndWithin(absl::Duration left) override { ends.push_back(left); }
  void BeginOrder(int number) override { begun_order = number; }

  std::map<Kind, std::vector<Item>> items = {};
  // Answers of GetNodePool one after the other, the last one for ever.
  std::deque<absl::StatusOr<lifecycle::v1::NodePool>> pools = {};
  std::vector<lifecycle::v1::Event> events = {};
  std::vector<std::string> calls = {};    // changes that were asked for
  std::vector<absl::Duration> ends = {};  // EndWithin's
  int begun_order = 0;                    // BeginOrder's
  std::vector<int> rollback_orders = {};
  absl::Status refusal = {};           // of every change
  absl::Status refusal_of_reads = {};  // of lists and Gets, also of the past, and of placements
  absl::Status refusal_of_placements = {};
  std::map<Kind, absl::Status> refusals_of_lists = {};  // of these kinds
  absl::Status refusal_of_items = {};                   // of deletions of what is no NodePool
  absl::Status refusal_of_pools = {};                   // of changes of NodePools
  size_t page_size = 1000;                              // of lists
  int lists = 0;                                        // that were asked for
  ListRange listed = {};                                // by the last list
  int gets = 0;
  std::function<void()> before_get = [] {};    // the world goes on
  std::function<void()> before_list = [] {};   // likewise
  std::function<void()> before_watch = [] {};  // before each stream
  lifecycle::v1::Node tried_node = {};         // what an order to a Node that is only tried answers
  lifecycle::v1::Node ordered_node = {};       // and one that is done
  std::optional<capacity::v1::Machine::State> state_of_machines = {};  // nullopt: as it was set
  Applied applied = {};
  std::vector<Resource> resources = {};                          // that were to be applied
  std::deque<std::function<absl::Status()>> apply_answers = {};  // of the next ones
  lifecycle::v1::NodePool changed = {};  // what changes of a NodePool answer
  lifecycle::v1::ExplainNodePoolResponse obstacles = {};
  debug::v1::CompareStateResponse comparison = {};
  access::v1::GetCallerResponse caller = {};
  access::v1::CheckAccessRequest access_asked = {};
  access::v1::CheckAccessResponse access_answer = {};
  history::v1::ListChangesResponse changes = {};
  // Answers of GetPast one after the other, the last one for ever; none: there was none.
  std::deque<absl::StatusOr<history::v1::GetPastResponse>> past = {};
  debug::v1::LogLevel log_level = debug::v1::LOG_LEVEL_INFO;
  debug::v1::AuditBooksRequest asked_books = {};
  debug::v1::AuditBooksResponse books = {};
  capacity::v1::ExplainClaimResponse explanation = {};
  capacity::v1::FindPlacementsResponse placements = {};
  configuration::v1::PoolConfiguration configuration = {};  // after every order
  quota::v1::HoldingAnswer holding = {};                    // what CheckQuota answers
  google::rpc::Status holding_error = {};                   // in its place, if set
  // What the streams carry, and how each ends. When none is left the watch ends for good.
  struct Stream {
    std::vector<WatchMessage> messages = {};
    absl::Status end = {};
  };
  std::deque<Stream> streams = {};
  std::vector<std::string> watched_from = {};  // `REVISION@INCARNATION`; empty: a snapshot
  WatchRange watched = {};                     // by the last stream

  absl::Status ListPages(Kind kind, const ListRange& range, const PageReceiver& receive) override {
    ++lists;
    before_list();
    listed = range;
    if (!refusal_of_reads.ok()) return refusal_of_reads;
    if (const auto of = refusals_of_lists.find(kind); of != refusals_of_lists.end())
      return of->second;
    const std::vector<Item>& all = items[kind];
    for (size_t begin = 0; begin == 0 || begin < all.size(); begin += page_size) {
      const size_t end = std::min(all.size(), begin + page_size);
      if (!receive({all.begin() + static_cast<std::ptrdiff_t>(begin),
                    all.begin() + static_cast<std::ptrdiff_t>(end)}))
        break;
    }
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<Item>> ListMachines(
      const capacity::v1::ListMachinesRequest& filter) override {
    calls.push_back("machines " + filter.ShortDebugString());
    return items[Kind::kMachine];
  }
  absl::StatusOr<capacity::v1::ExplainClaimResponse> ExplainClaim(
      const std::string& pool_uid) override {
    calls.push_back("explain " + pool_uid);
    return explanation;
  }
  absl::StatusOr<FoundPlacements> FindPlacements(
      const capacity::v1::FindPlacementsRequest& request) override {
    calls.push_back("find " + request.ShortDebugString());
    if (!refusal_of_reads.ok()) return refusal_of_reads;
    if (!refusal_of_placements.ok()) return refusal_of_placements;
    return FoundPlacements{.answer = placements};
  }
  absl::StatusOr<Item> Get(Kind kind, const std::string& id) override {
    ++gets;
    before_get();
    if (!refusal_of_reads.ok()) return refusal_of_reads;
    for (const Item& item : items[kind]) {
      const std::string& name = NameOf(item);
      if (IdOf(item) == id || name == id || absl::EndsWith(name, "/nodePools/" + id) ||
          (kind == Kind::kNode &&
           absl::EndsWith(absl::StrReplaceAll(name, {{"/nodes/", "/"}}), "/" + id)))
        return item;
    }
    // Whoever says nothing of clusters means one that is there.
    if (kind == Kind::kCluster && items[kind].empty()) return lifecycle::v1::Cluster();
    return absl::NotFoundError(id + " does not exist.");
  }
  absl::StatusOr<lifecycle::v1::NodePool> GetNodePool(const std::string& id) override {
    if (pools.empty()) {
      ASSIGN_OR_RETURN(const Item item, Get(Kind::kNodePool, id));
      return std::get<lifecycle::v1::NodePool>(item);
    }
    absl::StatusOr<lifecycle::v1::NodePool> answer = pools.front();
    if (pools.size() > 1) pools.pop_front();
    return answer;
  }
  absl::StatusOr<std::vector<lifecycle::v1::Event>> PoolEvents(const std::string&,
                                                               const std::string&) override {
    return events;
  }
  absl::StatusOr<Applied> Apply(const Resource& resource, const WriteMode& mode) override {
    return Written(absl::StrCat("apply ", resource.index()), resource, mode);
  }
  absl::StatusOr<Applied> UpdateNodePool(const lifecycle::v1::NodePool& pool,
                                         const std::vector<std::string>& paths,
                                         const WriteMode& mode) override {
    return Written(absl::StrCat("update ", absl::StrJoin(paths, ",")), pool, mode);
  }
  absl::StatusOr<lifecycle::v1::NodePool> DeleteNodePool(const std::string& id,
                                                         bool dry_run) override {
    return PoolChange(Tried(dry_run) + "delete " + id);
  }
  absl::StatusOr<lifecycle::v1::NodePool> Resize(
      lifecycle::v1::ResizeNodePoolRequest request) override {
    changed.mutable_spec()->set_target_nodes(request.target_nodes());
    return PoolChange("resize " + request.ShortDebugString());
  }
  absl::StatusOr<lifecycle::v1::NodePool> Reconfigure(
      lifecycle::v1::ReconfigureNodePoolRequest request) override {
    return PoolChange("reconfigure " + request.ShortDebugString());
  }
  absl::StatusOr<lifecycle::v1::NodePool> ControlReconfiguration(ReconfigurationVerb verb,
                                                                 const std::string& id,
                                                                 bool dry_run) override {
    return PoolChange(Tried(dry_run) + "control " + std::to_string(static_cast<int>(verb)) + " " +
                      id);
  }
  absl::StatusOr<lifecycle::v1::Node> UpdateNode(const std::string& pool,
                                                 const std::string& machine,
                                                 const lifecycle::v1::Node& node,
                                                 const std::string& field, bool dry_run) override {
    calls.push_back(Tried(dry_run) + "update " + field + " " + pool + " " + machine + " " +
                    node.ShortDebugString());
    if (!refusal.ok()) return refusal;
    return node;
  }
  absl::StatusOr<lifecycle::v1::Node> OrderNode(const std::string& pool, const std::string& machine,
                                                const NodeOrder& order) override {
    calls.push_back(absl::StrCat("order ", static_cast<int>(order.verb), " ", pool, " ", machine,
                                 order.force ? " force" : "", " mode ", order.mode,
                                 order.validate_only ? " tried" : ""));
    if (!refusal.ok()) return refusal;
    return order.validate_only ? tried_node : ordered_node;
  }
  absl::StatusOr<capacity::v1::Machine> SetMachineState(const std::string& machine,
                                                        capacity::v1::Machine::State state,
                                                        bool dry_run) override {
    calls.push_back(absl::StrCat(Tried(dry_run), "set ", machine, " ",
                                 capacity::v1::Machine::State_Name(state)));
    if (!refusal.ok()) return refusal;
    capacity::v1::Machine changed_machine;
    changed_machine.set_state(state_of_machines.value_or(state));
    return changed_machine;
  }
  absl::StatusOr<lifecycle::v1::Cluster> BindCluster(
      lifecycle::v1::BindClusterRequest request) override {
    calls.push_back("bind " + request.ShortDebugString());
    if (!refusal.ok()) return refusal;
    return lifecycle::v1::Cluster();
  }
  absl::StatusOr<lifecycle::v1::Cluster> AllowRemovals(
      lifecycle::v1::AllowRemovalsRequest request) override {
    calls.push_back("allow " + request.ShortDebugString());
    if (!refusal.ok()) return refusal;
    lifecycle::v1::Cluster cluster;
    cluster.mutable_removal_allowance()->mutable_expire_time()->set_seconds(1'748'626'560);
    return cluster;
  }
  absl::StatusOr<lifecycle::v1::ExplainNodePoolResponse> ExplainNodePool(
      const std::string& id) override {
    calls.push_back("explain nodepool " + id);
    if (!refusal.ok()) return refusal;
    return obstacles;
  }
  absl::StatusOr<CellNames> DeleteItem(const ResourceId& resource, bool dry_run) override {
    calls.push_back((dry_run ? "try to delete " : "delete ") + resource.id);
    if (!refusal_of_items.ok()) return refusal_of_items;
    if (!refusal.ok()) return refusal;
    return CellNames();
  }
  absl::StatusOr<quota::v1::CheckQuotaResponse> CheckQuota(
      const quota::v1::CheckQuotaRequest& request) override {
    calls.push_back("check " + request.holdings(0).name() + " " +
                    std::to_string(request.holdings(0).nodes()));
    if (!refusal.ok()) return refusal;
    quota::v1::CheckQuotaResponse response;
    if (holding_error.code() != 0) {
      *response.add_results()->mutable_error() = holding_error;
    } else {
      *response.add_results()->mutable_answer() = holding;
    }
    return response;
  }
  absl::StatusOr<CellNames> PublishRelease(const std::string& name, bool dry_run) override {
    calls.push_back(Tried(dry_run) + "publish " + name);
    if (!refusal.ok()) return refusal;
    return CellNames();
  }
  absl::StatusOr<CellNames> WithdrawRelease(const std::string& name, bool dry_run) override {
    calls.push_back(Tried(dry_run) + "withdraw " + name);
    if (!refusal.ok()) return refusal;
    return CellNames();
  }
  absl::StatusOr<configuration::v1::PoolConfiguration> Promote(const std::string& pool_uid,
                                                               const std::string& profile,
                                                               bool dry_run) override {
    calls.push_back(Tried(dry_run) + "promote " + pool_uid + " " + profile);
    if (!refusal.ok()) return refusal;
    return configuration;
  }
  absl::StatusOr<configuration::v1::PoolConfiguration> Rollback(const std::string& pool_uid,
                                                                const std::string& profile,
                                                                bool dry_run) override {
    calls.push_back(Tried(dry_run) + "rollback " + pool_uid + " " + profile);
    rollback_orders.push_back(begun_order);
    if (!refusal.ok()) return refusal;
    return configuration;
  }
  absl::StatusOr<configuration::v1::PoolConfiguration> EnableRevision(const std::string& pool_uid,
                                                                      const std::string& profile,
                                                                      bool dry_run) override {
    calls.push_back(Tried(dry_run) + "enable " + pool_uid + " " + profile);
    if (!refusal.ok()) return refusal;
    return configuration;
  }
  absl::StatusOr<debug::v1::CompareStateResponse> CompareState() override { return comparison; }
  absl::StatusOr<access::v1::GetCallerResponse> GetCaller() override { return caller; }
  absl::StatusOr<access::v1::CheckAccessResponse> CheckAccess(
      const access::v1::CheckAccessRequest& request) override {
    access_asked = request;
    return access_answer;
  }
  absl::StatusOr<ToldChanges> ListChanges(const ResourceId& resource, int limit,
                                          absl::Time since) override {
    calls.push_back(absl::StrCat("changes ", KindWord(resource.kind), " ", resource.id, " ", limit,
                                 " ", absl::FormatTime(since, absl::UTCTimeZone())));
    if (!refusal_of_reads.ok()) return refusal_of_reads;
    return ToldChanges{.answer = changes};
  }
  absl::StatusOr<std::vector<ToldPast>> GetPast(const ResourceId& resource,
                                                const Moment& then) override {
    const auto* revision = std::get_if<int64_t>(&then);
    calls.push_back(absl::StrCat(
        "past ", KindWord(resource.kind), " ", resource.id, " ",
        revision != nullptr ? absl::StrCat(*revision)
                            : absl::FormatTime(std::get<absl::Time>(then), absl::UTCTimeZone())));
    if (!refusal_of_reads.ok()) return refusal_of_reads;
    if (past.empty()) return absl::NotFoundError("there was none");
    absl::StatusOr<history::v1::GetPastResponse> answer = past.front();
    if (past.size() > 1) past.pop_front();
    if (!answer.ok()) return answer.status();
    return std::vector<ToldPast>{ToldPast{.answer = *std::move(answer)}};
  }
  absl::StatusOr<std::vector<Item>> ListPast(Kind kind, const std::string& pool,
                                             const Moment& then) override {
    calls.push_back(absl::StrCat("past list ", KindWord(kind), " ", pool, " ",
                                 std::holds_alternative<int64_t>(then) ? "revision" : "time"));
    if (!refusal_of_reads.ok()) return refusal_of_reads;
    return items[kind];
  }
  absl::StatusOr<debug::v1::LogLevel> GetLogLevel() override { return log_level; }
  absl::StatusOr<debug::v1::LogLevel> SetLogLevel(debug::v1::LogLevel level) override {
    log_level = level;
    return level;
  }
  absl::StatusOr<debug::v1::AuditBooksResponse> AuditBooks(
      const debug::v1::AuditBooksRequest& request) override {
    asked_books = request;
    return books;
  }
  absl::Status Watch(const WatchRange& range, const type::v1::WatchStart& start,
                     const WatchReceiver& receive) override {
    before_watch();
    watched = range;
    watched_from.push_back(
        start.has_after_revision()
            ? absl::StrCat(start.after_revision(), "@", start.incarnation(), start.view())
            : "");
    if (streams.empty()) return absl::CancelledError("the test ends");
    const Stream stream = streams.front();
    streams.pop_front();
    for (const WatchMessage& message : stream.messages) {
      if (!receive(message)) return absl::OkStatus();
    }
    return stream.end;
  }
  // Tells `fleet` at once; the link's health and explanations are `watches` and `obstacles`.
  absl::StatusOr<std::unique_ptr<FleetLink>> WatchFleet(page::WatchSink& sink) override {
    fleet(sink);
    return std::make_unique<FakeLink>(*this);
  }
  std::function<void(page::WatchSink& sink)> fleet = [](page::WatchSink&) {};
  absl::StatusOr<Leader> leader = absl::NotFoundError("nobody");
  // What the watches say one after the other when they are asked, the last one for ever.
  std::deque<std::vector<page::WatchHealth>> watches = {};

 private:
  class FakeLink final : public FleetLink {
   public:
    explicit FakeLink(FakeApi& api) : api_(api) {}
    std::vector<page::WatchHealth> health() const override {
      const std::vector<page::WatchHealth> now = api_.watches.front();
      if (api_.watches.size() > 1) api_.watches.pop_front();
      return now;
    }
    absl::StatusOr<lifecycle::v1::ExplainNodePoolResponse> Explain(
        const std::string& pool) override {
      return api_.ExplainNodePool(pool);
    }
    absl::StatusOr<Leader> AskLeader() override { return api_.leader; }
    void Stop() override {}

   private:
    FakeApi& api_;
  };

  static std::string Tried(bool dry_run) { return dry_run ? "try " : ""; }

  absl::StatusOr<Applied> Written(const std::string& call, const Resource& resource,
                                  const WriteMode& mode) {
    calls.push_back(absl::StrCat(Tried(mode.dry_run), call, mode.must_fit ? " must fit" : "",
                                 mode.overrides ? " overrides" : ""));
    resources.push_back(resource);
    if (mode.progress) {
      mode.progress(500, 1200);
      mode.progress(1000, 1200);
    }
    if (!apply_answers.empty()) {
      const absl::Status answer = apply_answers.front()();
      apply_answers.pop_front();
      if (!answer.ok()) return answer;
    }
    if (!refusal.ok()) return refusal;
    return applied;
  }

  absl::StatusOr<lifecycle::v1::NodePool> PoolChange(std::string call) {
    calls.push_back(std::move(call));
    if (!refusal_of_pools.ok()) return refusal_of_pools;
    if (!refusal.ok()) return refusal;
    return changed;
  }
};

}  // namespace muster::musterctl
