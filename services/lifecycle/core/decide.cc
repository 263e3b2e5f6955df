#include "services/lifecycle/core/decide.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/generation.h"
#include "services/common/status_macros.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/errors.h"
#include "services/lifecycle/core/events.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/put_pool.h"

namespace muster::lifecycle {
namespace {

Pool NewPool(const ApplyNodePool& command, const Cluster& cluster, Spec spec, absl::Time now) {
  Pool pool;
  pool.name = command.name;
  pool.uid = command.uid.empty() ? command.new_uid : command.uid;
  pool.zone = cluster.zone;
  pool.object_generation = command.object_generation;
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

absl::Status Validate(const ApplyNodePool& command, const Pool* before) {
  Faults faults;
  ValidateSpec(command.spec, command.target_nodes, before == nullptr ? nullptr : &before->spec,
               command.type ? &*command.type : nullptr, faults);
  faults.Require(command.object_generation >= 0, "node_pool.object_generation",
                 "must be at least 0");
  return faults.status();
}

// Whether the pool, as it is, may become what is asked.
absl::Status CheckFits(const Pool& before, const ApplyNodePool& command, const Spec& spec) {
  const bool from_object = command.object_generation > 0;
  if (from_object) {
    RETURN_IF_ERROR(
        CheckGeneration(command.name, command.object_generation, before.object_generation));
  }
  if (before.deleting() && !(from_object && before.spec == spec)) {
    return error::PoolDeleting(command.name);
  }
  return absl::OkStatus();
}

void Replace(Overlay<State>& overlay, const Pool& before, const ApplyNodePool& command, Spec spec) {
  Pool pool = before;
  const bool resized = pool.spec.target_nodes != spec.target_nodes;
  if (pool.spec != spec) ++pool.generation;
  pool.spec = std::move(spec);
  pool.object_generation = std::max(pool.object_generation, command.object_generation);
  PutPool(overlay, before, std::move(pool));
  if (resized) NameVictims(overlay, command.name, {});
}

}  // namespace

StatusOrOutcome Decide(Overlay<State>& overlay, const UpdateCluster& command, absl::Time now) {
  Cluster cluster = command.cluster;
  Faults faults;
  ValidateCluster(cluster, faults);
  RETURN_IF_ERROR(faults.status());
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
  RETURN_IF_ERROR(Validate(command, before));
  Spec spec = command.spec;
  spec.target_nodes = *command.target_nodes;
  const std::string cluster_name(ClusterNameOf(command.name));
  const Cluster* cluster = state.table<Cluster>().Find(cluster_name);
  if (cluster == nullptr) return muster::error::NotFound(cluster_name);
  RETURN_IF_ERROR(CheckIdentity(state, command, before));

  if (before == nullptr) {
    RETURN_IF_ERROR(CheckGeneration(command.name, command.object_generation, 0));
    Pool pool = NewPool(command, *cluster, std::move(spec), now);
    overlay.Put(pool);
    EventLog(overlay, now)
        .Emit(pool.uid, pool.name, "CWNodePoolCreated",
              absl::StrCat("NodePool ", LastIdOf(pool.name), " was created."));
  } else {
    RETURN_IF_ERROR(CheckFits(*before, command, spec));
    Replace(overlay, *before, command, std::move(spec));
  }
  return PoolOutcome(overlay.state(), command.name);
}

StatusOrOutcome Decide(Overlay<State>& overlay, const DeleteNodePool& command, absl::Time now) {
  const State& state = overlay.state();
  const Pool* before = state.table<Pool>().Find(command.name);
  if (before == nullptr) {
    if (command.allow_missing) return Outcome{};
    return muster::error::NotFound(command.name);
  }
  RETURN_IF_ERROR(CheckEtag<Pool>(state, command.name, command.etag));
  if (!before->deleting()) {
    Pool pool = *before;
    pool.delete_time = now;
    if (pool.reconfiguring()) {
      pool.reconfiguration->state = Reconfiguration::State::kCancelled;
      pool.reconfiguration->state_time = now;
    }
    PutPool(overlay, *before, std::move(pool));
  }
  return PoolOutcome(overlay.state(), command.name);
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

}  // namespace muster::lifecycle
