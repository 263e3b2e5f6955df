#include "services/lifecycle/core/decide.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/lifecycle/core/boot_failures.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/errors.h"
#include "services/lifecycle/core/events.h"
#include "services/lifecycle/core/names.h"

namespace muster::lifecycle {
namespace {

// What is asked of quota and capacity follows from these (demand.h): a change of one of them is a
// new generation.
bool AsksTheSame(const Pool& a, const Pool& b) {
  const auto complete = [](const Pool& pool) {
    return ReasonOf(pool.status.conditions, "NodesRemoved") == "Complete";
  };
  return a.wanted_nodes() == b.wanted_nodes() && a.deleting() == b.deleting() &&
         a.account.granted_nodes == b.account.granted_nodes &&
         a.account.requested_nodes == b.account.requested_nodes &&
         a.account.removed_nodes == b.account.removed_nodes && complete(a) == complete(b) &&
         IsPublishedInvalid(a) == IsPublishedInvalid(b);
}

void PutPool(Overlay<State>& overlay, const Pool& before, Pool after, bool asks_anew = false) {
  if (asks_anew || !AsksTheSame(before, after)) ++after.account.generation;
  overlay.Put(std::move(after));
}

template <class Row>
absl::Status CheckEtag(const State& state, const std::string& name, const std::string& etag) {
  if (etag.empty()) return absl::OkStatus();
  const Versioned<Row>* row = state.table<Row>().FindVersioned(name);
  const std::string current = row == nullptr ? "" : absl::StrCat(row->revision);
  return etag == current ? absl::OkStatus() : muster::error::EtagMismatch(name, etag, current);
}

Outcome PoolOutcome(Overlay<State>& overlay, const std::string& name, size_t mark,
                    bool validate_only) {
  const Versioned<Pool>* pool = overlay.state().table<Pool>().FindVersioned(name);
  Outcome outcome{.pool = *pool->row, .revision = pool->revision};
  if (validate_only) overlay.RollBack(mark);
  return outcome;
}

const TypeFacts* Facts(const std::optional<TypeFacts>& type) { return type ? &*type : nullptr; }

Pool NewPool(const ApplyNodePool& command, const Cluster& cluster, Spec spec, absl::Time now) {
  Pool pool;
  pool.name = command.name;
  pool.uid = command.uid.empty() ? command.new_uid : command.uid;
  pool.zone = cluster.zone;
  pool.create_time = now;
  pool.spec = std::move(spec);
  return pool;
}

absl::Status CheckIdentity(const State& state, const ApplyNodePool& command, const Pool* before) {
  if (before != nullptr && !command.uid.empty() && command.uid != before->uid) {
    return error::UidMismatch(command.name, command.uid);
  }
  const Pool* holder = command.uid.empty() ? nullptr : state.FindPoolByUid(command.uid);
  if (holder != nullptr && holder != before) return error::UidMismatch(command.name, command.uid);
  return CheckEtag<Pool>(state, command.name, command.etag);
}

}  // namespace

StatusOrOutcome Decide(Overlay<State>& overlay, const UpdateCluster& command, absl::Time now) {
  Cluster cluster = command.cluster;
  if (auto faults = ValidateCluster(cluster); !faults.empty()) {
    return muster::error::InvalidFields(std::move(faults));
  }
  RETURN_IF_ERROR(CheckEtag<Cluster>(overlay.state(), cluster.name, command.etag));
  const Cluster* before = overlay.state().table<Cluster>().Find(cluster.name);
  if (before != nullptr && before->zone != cluster.zone) return error::ZoneChanged(cluster.name);
  cluster.create_time = before == nullptr ? now : before->create_time;
  overlay.Put(cluster);
  const Versioned<Cluster>* row = overlay.state().table<Cluster>().FindVersioned(cluster.name);
  return Outcome{.cluster = *row->row, .revision = row->revision};
}

StatusOrOutcome Decide(Overlay<State>& overlay, const ApplyNodePool& command, absl::Time now) {
  const State& state = overlay.state();
  const Pool* before = state.table<Pool>().Find(command.name);
  Spec spec = command.spec;
  if (auto faults = ValidateSpec(spec, command.target_nodes,
                                 before == nullptr ? nullptr : &before->spec, Facts(command.type));
      !faults.empty()) {
    return muster::error::InvalidFields(std::move(faults));
  }
  spec.target_nodes = *command.target_nodes;
  const std::string cluster_name(ClusterNameOf(command.name));
  const Cluster* cluster = state.table<Cluster>().Find(cluster_name);
  if (cluster == nullptr) return muster::error::NotFound(cluster_name);
  RETURN_IF_ERROR(CheckIdentity(state, command, before));

  const size_t mark = overlay.Mark();
  if (before == nullptr) {
    Pool pool = NewPool(command, *cluster, std::move(spec), now);
    overlay.Put(pool);
    EventLog(overlay, now)
        .Emit(pool.uid, pool.name, "CWNodePoolCreated",
              absl::StrCat("NodePool ", LastIdOf(pool.name), " was created."));
  } else if (before->deleting()) {
    return error::PoolDeleting(command.name);
  } else if (before->spec != spec) {
    Pool pool = *before;
    pool.spec = std::move(spec);
    ++pool.generation;
    PutPool(overlay, *before, std::move(pool));
  }
  return PoolOutcome(overlay, command.name, mark, command.validate_only);
}

StatusOrOutcome Decide(Overlay<State>& overlay, const ResizeNodePool& command, absl::Time) {
  const State& state = overlay.state();
  const Pool* before = state.table<Pool>().Find(command.name);
  if (before == nullptr) return muster::error::NotFound(command.name);
  RETURN_IF_ERROR(CheckEtag<Pool>(state, command.name, command.etag));
  if (before->deleting()) return error::PoolDeleting(command.name);
  if (auto faults =
          ValidateSpec(before->spec, command.target_nodes, &before->spec, Facts(command.type));
      !faults.empty()) {
    for (auto& fault : faults) {
      if (fault.field == "spec.targetNodes") fault.field = "target_nodes";
    }
    return muster::error::InvalidFields(std::move(faults));
  }
  const size_t mark = overlay.Mark();
  if (before->spec.target_nodes != *command.target_nodes) {
    Pool pool = *before;
    pool.spec.target_nodes = *command.target_nodes;
    ++pool.generation;
    PutPool(overlay, *before, std::move(pool));
  }
  return PoolOutcome(overlay, command.name, mark, command.validate_only);
}

StatusOrOutcome Decide(Overlay<State>& overlay, const DeleteNodePool& command, absl::Time now) {
  const State& state = overlay.state();
  const Pool* before = state.table<Pool>().Find(command.name);
  if (before == nullptr) {
    if (command.allow_missing) return Outcome{};
    return muster::error::NotFound(command.name);
  }
  RETURN_IF_ERROR(CheckEtag<Pool>(state, command.name, command.etag));
  const size_t mark = overlay.Mark();
  if (!before->deleting()) {
    Pool pool = *before;
    pool.delete_time = now;
    PutPool(overlay, *before, std::move(pool));
  }
  return PoolOutcome(overlay, command.name, mark, command.validate_only);
}

StatusOrOutcome Decide(Overlay<State>& overlay, const TakeLease& command, absl::Time) {
  const Lease* before = overlay.state().table<Lease>().Find(Lease::kName);
  if (before != nullptr && before->holder == command.holder && before->epoch == command.epoch) {
    return Outcome{};
  }
  if (before != nullptr && command.epoch <= before->epoch) {
    return error::StaleLeader(command.epoch, before->epoch);
  }
  overlay.Put(Lease{Lease::kName, command.holder, command.epoch});
  return Outcome{.revision = overlay.revision()};
}

namespace {

// --- ApplyPlan ---

// Carries out actions one by one on the overlay.
class Executor {
 public:
  Executor(Overlay<State>& overlay, const Pool& pool, absl::Time now)
      : overlay_(overlay), before_(pool), pool_(pool), now_(now), events_(overlay, now) {}

  absl::Status Run(const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      RETURN_IF_ERROR(std::visit([this](const auto& a) { return Do(a); }, action));
    }
    if (!removed_) PutPool(overlay_, before_, std::move(pool_), asks_anew_);
    return absl::OkStatus();
  }

 private:
  absl::Status Do(const AssignNode& action) {
    Node node = NodeOf(pool_, action, now_);
    if (overlay_.state().table<Node>().Find(node.name) != nullptr) {
      return error::DoesNotFit(node.name, "there already", "assignment");
    }
    overlay_.Put(std::move(node));
    asks_anew_ |= IsPublishedInvalid(pool_);  // which asks for what it has
    return absl::OkStatus();
  }
  absl::Status Do(const OrderBoot& action) { return Change(action); }
  absl::Status Do(const SetDrainDeadline& action) { return Change(action); }
  absl::Status Do(const RefreshMetadata& action) { return Change(action); }
  absl::Status Do(const StepNode& action) {
    const Node* before = overlay_.state().table<Node>().Find(action.node);
    if (before == nullptr) return muster::error::NotFound(action.node);
    if (action.event == NodeEvent::kBootTimedOut) CountBootFailure(pool_, *before);
    RETURN_IF_ERROR(Change(action));
    asks_anew_ |= IsReturnable(overlay_.state().table<Node>().Find(action.node)->state);
    return absl::OkStatus();
  }
  absl::Status Do(const PurgeNode& action) {
    if (!overlay_.Delete<Node>(action.node)) return muster::error::NotFound(action.node);
    ++pool_.account.removed_nodes;
    return absl::OkStatus();
  }
  absl::Status Do(const SetAccount& action) {
    pool_.account.granted_nodes = action.granted_nodes;
    pool_.account.requested_nodes = action.requested_nodes;
    return absl::OkStatus();
  }
  absl::Status Do(const SetStatus& action) {
    pool_.status = action.status;
    return absl::OkStatus();
  }
  absl::Status Do(const EmitEvent& action) {
    events_.Emit(pool_.uid, action.object, action.event, action.message);
    return absl::OkStatus();
  }
  absl::Status Do(const RemovePool&) {
    overlay_.Delete<Pool>(pool_.name);
    removed_ = true;
    return absl::OkStatus();
  }

  template <class A>
  absl::Status Change(const A& action) {
    const Node* before = overlay_.state().table<Node>().Find(action.node);
    if (before == nullptr) return muster::error::NotFound(action.node);
    Node node = *before;
    RETURN_IF_ERROR(CarryOut(node, pool_, action, now_));
    overlay_.Put(std::move(node));
    return absl::OkStatus();
  }

  Overlay<State>& overlay_;
  const Pool before_;
  Pool pool_;
  const absl::Time now_;
  EventLog events_;
  bool asks_anew_ = false;
  bool removed_ = false;
};

// The Node that an action changes; empty: none that was there before.
struct TouchedNode {
  absl::string_view operator()(const OrderBoot& a) const { return a.node; }
  absl::string_view operator()(const StepNode& a) const { return a.node; }
  absl::string_view operator()(const SetDrainDeadline& a) const { return a.node; }
  absl::string_view operator()(const RefreshMetadata& a) const { return a.node; }
  absl::string_view operator()(const PurgeNode& a) const { return a.node; }
  template <class A>
  absl::string_view operator()(const A&) const {
    return "";
  }
};

// The newest revision of the rows that the plan is about: the pool's and those of the Nodes that it
// changes. What agents report of other Nodes meanwhile does not outdate it, else a plan for a busy
// pool would never get through; whatever changes what the pool may have or must give back changes
// the pool's row too.
int64_t NewestTouched(const State& state, const ApplyPlan& command) {
  int64_t newest = state.table<Pool>().FindVersioned(command.pool)->revision;
  for (const Action& action : command.actions) {
    const absl::string_view name = std::visit(TouchedNode(), action);
    const Versioned<Node>* node = name.empty() ? nullptr : state.table<Node>().FindVersioned(name);
    if (node != nullptr) newest = std::max(newest, node->revision);
  }
  return newest;
}

}  // namespace

StatusOrOutcome Decide(Overlay<State>& overlay, const ApplyPlan& command, absl::Time now) {
  const State& state = overlay.state();
  const Lease* lease = state.table<Lease>().Find(Lease::kName);
  const int64_t epoch = lease == nullptr ? 0 : lease->epoch;
  if (command.epoch != epoch) return error::StaleLeader(command.epoch, epoch);
  const Pool* pool = state.table<Pool>().Find(command.pool);
  if (pool == nullptr || pool->uid != command.uid) {
    return error::PlanOutdated(command.pool, command.version, 0);
  }
  if (const int64_t newest = NewestTouched(state, command); newest > command.version) {
    return error::PlanOutdated(command.pool, command.version, newest);
  }
  const size_t mark = overlay.Mark();
  if (absl::Status status = Executor(overlay, *pool, now).Run(command.actions); !status.ok()) {
    overlay.RollBack(mark);
    return status;
  }
  return Outcome{.revision = overlay.revision()};
}

}  // namespace muster::lifecycle
