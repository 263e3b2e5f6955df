#include "services/lifecycle/core/decide.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/error.h"
#include "services/common/generation.h"
#include "services/common/status_macros.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/errors.h"
#include "services/lifecycle/core/events.h"
#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/put_pool.h"
#include "services/lifecycle/core/reconfiguration.h"
#include "services/lifecycle/core/spec_fields.h"
#include "services/lifecycle/core/summary.h"
#include "services/lifecycle/core/validate_command.h"

namespace muster::lifecycle {
namespace {

Pool NewPool(const ApplyNodePool& command, const Cluster& cluster, const Lease* lease, Spec spec,
             absl::Time now) {
  Pool pool;
  pool.name = command.name;
  pool.uid = command.uid.empty() ? command.new_uid : command.uid;
  pool.zone = cluster.zone;
  pool.object_generation = command.object_generation;
  pool.create_time = now;
  pool.spec = std::move(spec);
  SummarizeUnobserved(pool, now);
  // In a restored database its uid may be known from the lost future.
  if (lease != nullptr && lease->generation_floor > 0) {
    pool.account.generation = std::max(pool.account.generation, lease->generation_floor);
    pool.account.claim_unknown = !command.uid.empty();
  }
  return pool;
}

// True when the pool already is as the command asks. Its etag is then not checked: a caller whose
// answer was lost repeats the command with the etag from before it.
bool IsSo(const Pool& before, const ApplyNodePool& command) {
  Spec spec = command.spec;
  spec.target_nodes = command.target_nodes.value_or(-1);
  return !before.deleting() && before.spec == spec;
}

absl::Status CheckIdentity(const State& state, const ApplyNodePool& command, const Pool* before) {
  if (before != nullptr && !command.uid.empty() && command.uid != before->uid) {
    return error::UidMismatch(command.name, command.uid, before->uid);
  }
  const Pool* holder = command.uid.empty() ? nullptr : state.FindPoolByUid(command.uid);
  if (holder != nullptr && holder != before) return error::UidTaken(command.name, command.uid);
  if (before != nullptr && IsSo(*before, command)) return absl::OkStatus();
  return CheckEtag<Pool>(state, command.name, command.etag);
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

// Where generations go on in a history that begins at this time: by the clock alone, so that they
// are above those of all earlier histories, however often and to whatever past these went back. No
// pool asks anew so many times a second for long, and a service that knows nothing of a pool takes
// it until 2042.
int64_t GenerationFloor(absl::Time now) {
  constexpr int64_t kASecond = 8;
  const absl::Duration time = now - absl::FromUnixSeconds(1'735'689'600);  // since 2025-01-01
  return kHistoryJump + std::max<int64_t>(0, absl::ToInt64Milliseconds(kASecond * time) / 1'000);
}

// Raises the generations of the accounts of the next pools after `after`, at most of `most`. Only
// those that were raised for another reason are above the floor already. Returns the last of these
// pools; empty: no more are left.
std::string RaiseAccounts(StagedState<State>& staged, int64_t floor, const std::string& after,
                          size_t most) {
  const auto& rows = staged.state().table<Pool>().rows();
  std::vector<Pool> pools;
  auto next = rows.upper_bound(absl::string_view(after));
  for (; next != rows.end() && pools.size() < most; ++next) pools.push_back(*next->second.row);
  std::string through = next == rows.end() ? "" : pools.back().name;
  for (Pool& pool : pools) {
    int64_t& generation = pool.account.generation;
    generation = generation < floor ? floor : generation + kHistoryJump;
    pool.account.claim_unknown = true;
    staged.Put(std::move(pool));
  }
  return through;
}

// Names of the fields that changed.
std::string ChangedMetadata(const Spec& before, const Spec& after) {
  std::vector<absl::string_view> changed;
  if (before.node_labels != after.node_labels) changed.push_back("nodeLabels");
  if (before.node_annotations != after.node_annotations) changed.push_back("nodeAnnotations");
  if (before.node_taints != after.node_taints) changed.push_back("nodeTaints");
  return absl::StrJoin(changed, ", ");
}

void Replace(StagedState<State>& staged, const Pool& row, const ApplyNodePool& command, Spec spec,
             absl::Time now) {
  const Pool before = row;  // the staged state changes what `row` is
  Pool pool = before;
  const std::string metadata = ChangedMetadata(pool.spec, spec);
  ChangeSpec(pool, std::move(spec), now);
  pool.object_generation = std::max(pool.object_generation, command.object_generation);
  NameVictims(staged, pool, {}, command.type, now);
  PutPool(staged, before, std::move(pool));
  if (!metadata.empty())
    EventLog(staged, now)
        .Emit(before.uid, before.name, EventReason::kNodePoolMetadata,
              absl::StrCat("Updated ", metadata, "."));
}

}  // namespace

StatusOrOutcome Decide(StagedState<State>& staged, const ApplyNodePool& command, absl::Time now) {
  const State& state = staged.state();
  const Pool* before = state.table<Pool>().Find(command.name);
  Faults faults;
  ValidateIn(state, command, faults);
  RETURN_IF_ERROR(faults.status());
  Spec spec = command.spec;
  spec.target_nodes = command.target_nodes.value();
  const std::string cluster_name(ClusterNameOf(command.name));
  const Cluster* cluster = state.table<Cluster>().Find(cluster_name);
  if (cluster == nullptr) return muster::error::NotFound(cluster_name);
  RETURN_IF_ERROR(CheckIdentity(state, command, before));

  std::vector<std::string> changed = {"spec"};
  if (before == nullptr) {
    RETURN_IF_ERROR(CheckGeneration(command.name, command.object_generation, 0));
    const absl::string_view organization = OrganizationOf(command.name);
    if (state.CountOf(organization).pools >= command.limits.pools)
      return error::TooManyPools(organization, command.limits.pools);
    const Pool pool =
        NewPool(command, *cluster, state.table<Lease>().Find(Lease::kName), std::move(spec), now);
    staged.Put(pool);
    EventLog(staged, now)
        .Emit(pool.uid, pool.name, EventReason::kNodePoolCreated,
              absl::StrCat("NodePool ", LastIdOf(pool.name), " was created."));
  } else {
    RETURN_IF_ERROR(CheckFits(*before, command, spec));
    changed = ChangedFields(before->spec, spec);
    Replace(staged, *before, command, std::move(spec), now);
  }
  Outcome outcome = PoolOutcome(staged.state(), command.name);
  outcome.set_back =
      command.object_generation == 0 && outcome.pool->object_generation > 0 && !changed.empty();
  outcome.changed_fields = std::move(changed);
  return outcome;
}

StatusOrOutcome Decide(StagedState<State>& staged, const UpdateNodePool& command, absl::Time now) {
  const Pool* before = staged.state().table<Pool>().Find(command.name);
  if (before == nullptr) return muster::error::NotFound(command.name);
  const ApplyNodePool whole = WholeOf(*before, command);
  Faults faults;
  if (!IsSo(*before, whole))
    RETURN_IF_ERROR(CheckEtag<Pool>(staged.state(), command.name, command.etag));
  Validate(whole, faults);
  ValidateIn(staged.state(), whole, faults);
  RETURN_IF_ERROR(faults.status());
  return Decide(staged, whole, now);
}

StatusOrOutcome Decide(StagedState<State>& staged, const DeleteNodePool& command, absl::Time now) {
  const State& state = staged.state();
  const Pool* before = state.table<Pool>().Find(command.name);
  if (before == nullptr) {
    if (command.allow_missing) return Outcome{};
    return muster::error::NotFound(command.name);
  }
  // As in IsSo: when it is being deleted already the etag is not checked.
  if (!before->deleting()) {
    RETURN_IF_ERROR(CheckEtag<Pool>(state, command.name, command.etag));
    Pool pool = *before;
    pool.delete_time = now;
    SummarizeUnobserved(pool, now);
    if (pool.reconfiguring()) {
      MoveTo(*pool.reconfiguration, Reconfiguration::State::kCancelled, "", now);
      EventLog events(staged, now);
      TellReconfiguration(*before, pool, events);
    }
    PutPool(staged, *before, std::move(pool));
  }
  return PoolOutcome(staged.state(), command.name);
}

StatusOrOutcome Decide(StagedState<State>& staged, const TakeLease& command, absl::Time now) {
  const Lease* before = staged.state().table<Lease>().Find(Lease::kName);
  const bool new_history = before != nullptr && !command.incarnation.empty() &&
                           before->incarnation != command.incarnation;
  // Its heartbeat may outlast a change of history, so that its epoch stays.
  const bool is_own =
      before != nullptr && before->holder == command.holder && before->epoch == command.epoch;
  if (is_own && !new_history) return Outcome{};
  const bool goes_on = is_own && !command.raised_through.empty();
  if (before != nullptr && command.epoch <= before->epoch && !is_own) {
    return error::StaleLeader(command.epoch, before->epoch);
  }
  Lease lease = before == nullptr ? Lease() : *before;
  lease.holder = command.holder;
  lease.epoch = command.epoch;
  if (!command.incarnation.empty()) lease.incarnation = command.incarnation;
  Outcome outcome;
  if (new_history) {
    if (!goes_on)
      lease.generation_floor = std::max(lease.generation_floor + 1, GenerationFloor(now));
    outcome.raised_through =
        RaiseAccounts(staged, lease.generation_floor,
                      goes_on ? command.raised_through : std::string(), command.most_raised);
    // Whoever comes instead of a holder that is gone before it has raised all begins anew.
    if (!outcome.raised_through.empty()) lease.incarnation = before->incarnation;
  }
  staged.Put(lease);
  outcome.revision = staged.revision();
  return outcome;
}

StatusOrOutcome Decide(StagedState<State>& staged, const ExpireEvents& command, absl::Time now) {
  const State::EventsByTime& gone = staged.state().EventsOfGone();
  for (size_t i = 0; i < kMaxExpiredEvents && !gone.empty(); ++i) {
    const State::Seen oldest = *gone.begin();
    if (now - oldest.time() < command.keep && gone.size() <= command.most) break;
    staged.Delete<Event>(oldest.name());
  }
  return Outcome{.revision = staged.revision()};
}

}  // namespace muster::lifecycle
