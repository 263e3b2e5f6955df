#include "tests/simulation/survey.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/capacity/core/parts.h"
#include "services/configuration/core/strategy.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/quota/core/overrides.h"

namespace muster::simulation {
namespace {

constexpr absl::string_view kStrategies[] = {"Manual", "OnSpecUpdate", "Always"};
constexpr absl::string_view kOrders[] = {"promotion", "rollback"};
constexpr absl::string_view kOutcomes[] = {"waits",  "done",      "no pending",
                                           "failed", "conflicts", "replaced"};
constexpr absl::string_view kReconfigurations[] = {"runs", "paused", "halted", "done", "cancelled"};

std::string DeletedWith(lifecycle::NodeState state) {
  return absl::StrCat("deleted: with a Node ", lifecycle::NodeStateName(state));
}

std::string Became(absl::string_view what, configuration::Strategy strategy) {
  return absl::StrCat("release: ", what, " under ", kStrategies[static_cast<size_t>(strategy)]);
}

std::string OrderIs(const configuration::Order& order) {
  return absl::StrCat("order: ", kOrders[static_cast<size_t>(order.kind)], " ",
                      kOutcomes[static_cast<size_t>(order.outcome)]);
}

}  // namespace

Counts NoCounts() {
  Counts counts;
  for (const char* kind : {"racks: granted",
                           "racks: of 18",
                           "racks: to a gang",
                           "gang: all at once",
                           "spot: reclaimed",
                           "spot: taken back",
                           "spot: handed over",
                           "prefill: beyond the target",
                           "prefill: before it leaves",
                           "affinity: granted",
                           "affinity: met by no machine",
                           "priority: before who waits longer",
                           "override: more than the limit",
                           "override: less than is held",
                           "quota: gone under what is held",
                           "zone: offers no more",
                           "release: of what Nodes boot withdrawn",
                           "release: waits for Nodes in delivery",
                           "release: disabled",
                           "release: enabled again",
                           "release: latest train",
                           "deleted: unseen",
                           "deleted: waits in the queue",
                           "deleted: over quota",
                           "deleted: invalid",
                           "deleted: while it reboots",
                           "deleted: while spot is reclaimed",
                           "question: explanation",
                           "question: preview",
                           "quiet: a pool speaks",
                           "settled: work came or went",
                           "message: late",
                           "generation: too far",
                           "clock: half an hour ahead",
                           "clock: back",
                           "request: its answer is lost",
                           "request: the same again",
                           "request: another under its id",
                           "give-up: a Node",
                           "give-up: waits for the next interval",
                           "lease: taken over",
                           "lease: a takeover fails",
                           "lease: a piece of a takeover",
                           "lease: a piece is committed, and its answer lost",
                           "lease: the rest of a takeover waits for a beat",
                           "lease: a takeover begins anew after some pieces",
                           "lease: given up by who cannot commit",
                           "lease: of the future is taken",
                           "lease: a plan of who does not lead is refused",
                           "restore: lifecycle",
                           "restore: quota",
                           "restore: capacity",
                           "restore: configuration",
                           "restore: of several",
                           "restore: at rest",
                           "restore: met by a plan under way",
                           "rebase: carried out",
                           "pool: revived, and deleted",
                           "orphan: claim given back",
                           "orphan: holding given back",
                           "orphan: configuration given back",
                           "orphan: has its pool again",
                           "orphan: withheld, too many",
                           "message: report about an earlier Node"}) {
    counts[kind] = 0;
  }
  for (int state = 0; state < lifecycle::kNodeStates; ++state) {
    counts[DeletedWith(static_cast<lifecycle::NodeState>(state))] = 0;
  }
  for (int strategy = 0; strategy < 3; ++strategy) {
    for (const char* what : {"staged", "pending"}) {
      counts[Became(what, static_cast<configuration::Strategy>(strategy))] = 0;
    }
  }
  for (const char* order :
       {"promotion waits", "promotion done", "promotion no pending", "promotion conflicts",
        "promotion replaced", "rollback waits", "rollback done", "rollback failed",
        "rollback conflicts", "rollback replaced"}) {
    counts[absl::StrCat("order: ", order)] = 0;
  }
  for (const absl::string_view state : kReconfigurations) {
    counts[absl::StrCat("reconfiguration: ", state)] = 0;
  }
  return counts;
}

Survey::Survey(Cloud& cloud) : cloud_(cloud) {
  const auto hear = [](auto& service, auto hears) {
    service.committed = [hears, others = service.committed](const auto& staged) {
      others(staged);
      hears(staged);
    };
  };
  hear(cloud.lifecycle, [this](const auto& staged) { Lifecycle(staged); });
  hear(cloud.quota, [this](const auto& staged) { Quota(staged); });
  hear(cloud.capacity, [this](const auto& staged) { Capacity(staged); });
  hear(cloud.configuration, [this](const auto& staged) {
    ForEachChanged<configuration::PoolConfiguration>(staged, [&](const auto* was, const auto* is) {
      if (was != nullptr && is != nullptr) Configuration(*was, *is);
    });
  });
}

void Survey::Saw(absl::string_view kind, int64_t times) { counts_.at(std::string(kind)) += times; }

// --- lifecycle ---

void Survey::Lifecycle(const StagedState<lifecycle::State>& staged) {
  ForEachChanged<lifecycle::Pool>(staged, [&](const auto* was, const auto* is) {
    if (was != nullptr && is != nullptr) Pool(staged.state(), *was, *is);
  });
  ForEachChanged<lifecycle::Node>(staged, [&](const auto* was, const auto* is) {
    if (was != nullptr && is != nullptr) Node(staged.state(), *was, *is);
  });
}

void Survey::Pool(const lifecycle::State& state, const lifecycle::Pool& was,
                  const lifecycle::Pool& is) {
  if (!was.deleting() && is.deleting()) Deletion(state, was);
  if (was.account.prefill_nodes == 0 && is.account.prefill_nodes > 0)
    Saw("prefill: beyond the target");
  const auto invalid = [](const lifecycle::Pool& pool) {
    const auto* valid = lifecycle::FindCondition(pool.status.conditions, "Validated");
    return valid != nullptr && valid->status == "False" ? valid->message : "";
  };
  if (invalid(was) != invalid(is)) {
    if (absl::StrContains(invalid(is), "affinity")) Saw("affinity: met by no machine");
    if (absl::StrContains(invalid(is), "in zone") && invalid(was).empty())
      Saw("zone: offers no more");
  }
  if (is.reconfiguration &&
      (!was.reconfiguration || was.reconfiguration->state != is.reconfiguration->state)) {
    Saw(absl::StrCat("reconfiguration: ",
                     kReconfigurations[static_cast<size_t>(is.reconfiguration->state)]));
  }
}

void Survey::Deletion(const lifecycle::State& state, const lifecycle::Pool& pool) {
  const auto& conditions = pool.status.conditions;
  if (conditions.empty()) Saw("deleted: unseen");
  if (pool.status.queued_nodes > 0) Saw("deleted: waits in the queue");
  if (lifecycle::ReasonOf(conditions, "Quota") == "Over") Saw("deleted: over quota");
  if (lifecycle::ReasonOf(conditions, "Validated") == "Invalid") Saw("deleted: invalid");
  if (pool.reconfiguring()) Saw("deleted: while it reboots");
  for (const lifecycle::Node* node : state.NodesOf(pool.name)) {
    Saw(DeletedWith(node->state));
    if (node->preempt_time != lifecycle::kNever) Saw("deleted: while spot is reclaimed");
  }
}

void Survey::Node(const lifecycle::State& state, const lifecycle::Node& was,
                  const lifecycle::Node& is) {
  if (was.replace_time != lifecycle::kNever || is.replace_time == lifecycle::kNever) return;
  const lifecycle::Pool* pool = state.FindPoolByUid(is.pool_uid);
  if (pool != nullptr && pool->spec.prefill) Saw("prefill: before it leaves");
}

// --- quota and capacity ---

void Survey::Quota(const StagedState<quota::State>& staged) {
  const quota::State& state = staged.state();
  ForEachChanged<quota::Holding>(staged, [&](const auto* was, const auto* is) {
    if (is == nullptr || is->nodes <= (was == nullptr ? 0 : was->nodes)) return;
    const auto* quota = state.table<quota::Quota>().Find(is->quota);
    if (quota != nullptr && state.Held(is->quota) > quota->limit)
      Saw("override: more than the limit");
  });
  ForEachChanged<quota::Quota>(staged, [&](const auto* was, const auto* is) {
    const int64_t held = state.Held(was == nullptr ? is->Key() : was->Key());
    if (is == nullptr && held > 0) Saw("quota: gone under what is held");
    if (is == nullptr) return;
    const int64_t limit = LimitAt(*is, cloud_.quota.time());
    if (limit < is->limit && limit < held) Saw("override: less than is held");
  });
}

void Survey::Capacity(const StagedState<capacity::State>& staged) {
  std::map<std::string, std::vector<const capacity::MachineRow*>> granted;  // by pool uid
  std::map<std::string, std::string> forecast;  // machine → for whom it was reclaimed
  ForEachChanged<capacity::MachineRow>(staged, [&](const auto* was, const auto* is) {
    if (was == nullptr || is == nullptr) return;
    if (!is->claim.empty() && was->claim != is->claim) granted[is->claim].push_back(is);
    Reclaims(*was, *is);
    // A machine that is given back is free, and may be granted again in the same decision.
    if (is->claim.empty()) forecast[is->id] = was->earmark;
    if (!is->claim.empty() && forecast.contains(is->id) && forecast[is->id] == is->claim)
      Saw("spot: handed over");
  });
  Grants(staged.state(), granted);
}

void Survey::Reclaims(const capacity::MachineRow& was, const capacity::MachineRow& is) {
  using capacity::MachineState;
  if (was.state == is.state) return;
  if (is.state == MachineState::kReclaiming) Saw("spot: reclaimed");
  if (was.state != MachineState::kReclaiming) return;
  if (is.claim == was.claim) Saw("spot: taken back");
}

void Survey::Grants(
    const capacity::State& state,
    const std::map<std::string, std::vector<const capacity::MachineRow*>>& granted) {
  for (const auto& [uid, machines] : granted) {
    const capacity::ClaimRow* claim = state.FindClaim(uid);
    if (claim == nullptr) continue;
    const int32_t per_rack = state.FindInstanceType(claim->instance_type)->nodes_per_rack;
    const auto size = static_cast<int64_t>(machines.size());
    if (per_rack > 0) Saw("racks: granted");
    if (per_rack == 18) Saw("racks: of 18");
    if (per_rack > 0 && claim->gang) Saw("racks: to a gang");
    if (claim->gang && size > 1 && claim->parts.empty()) Saw("gang: all at once");
    if (!claim->affinity.terms().empty()) Saw("affinity: granted");
    const absl::Time asked = *machines.front()->request_time;
    for (const auto& [key, row] : state.table<capacity::ClaimRow>().rows()) {
      const capacity::ClaimRow& other = *row.row;
      const bool same = other.zone == claim->zone && other.instance_type == claim->instance_type;
      if (same && other.priority < claim->priority && !other.parts.empty() &&
          other.parts.front().request_time < asked)
        Saw("priority: before who waits longer");
    }
  }
}

// --- configuration ---

void Survey::Configuration(const configuration::PoolConfiguration& was,
                           const configuration::PoolConfiguration& is) {
  if (!was.active().empty() && was.active() != is.active() && !was.has_waiting())
    Saw(Became("staged", is.spec.strategy));
  if (is.has_pending() && was.pending.node_profile != is.pending.node_profile)
    Saw(Became("pending", is.spec.strategy));
  if (!was.has_waiting() && is.has_waiting()) Saw("release: waits for Nodes in delivery");
  if (was.spec.release_train != is.spec.release_train) Saw("release: latest train");
  for (const configuration::Revision& revision : is.revisions) {
    const auto* before = FindRevision(was, revision.node_profile);
    if (before == nullptr || before->disabled == revision.disabled) continue;
    Saw(revision.disabled ? "release: disabled" : "release: enabled again");
  }
  Orders(was, is);
}

void Survey::Orders(const configuration::PoolConfiguration& was,
                    const configuration::PoolConfiguration& is) {
  for (const configuration::Order& order : is.orders) {
    const auto before = std::find_if(was.orders.begin(), was.orders.end(),
                                     [&](const auto& o) { return o.number == order.number; });
    if (before == was.orders.end() || before->outcome != order.outcome) Saw(OrderIs(order));
  }
}

}  // namespace muster::simulation
