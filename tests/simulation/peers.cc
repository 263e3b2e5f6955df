#include "tests/simulation/peers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/names.h"

namespace muster::simulation {
namespace {

capacity::ComputeClass ClassOf(const lifecycle::Pool& pool) {
  return pool.spec.compute_class == "spot" ? capacity::ComputeClass::kSpot
                                           : capacity::ComputeClass::kDefault;
}

configuration::Strategy StrategyOf(const lifecycle::Spec& spec) {
  if (spec.update_strategy == "Manual") return configuration::Strategy::kManual;
  if (spec.update_strategy == "Always") return configuration::Strategy::kAlways;
  return configuration::Strategy::kOnSpecUpdate;
}

capacity::ReturnReason ReasonOf(lifecycle::MachineReturn::Reason reason) {
  switch (reason) {
    case lifecycle::MachineReturn::Reason::kReleased:
      return capacity::ReturnReason::kReleased;
    case lifecycle::MachineReturn::Reason::kBroken:
      return capacity::ReturnReason::kBroken;
    case lifecycle::MachineReturn::Reason::kPreempted:
      return capacity::ReturnReason::kPreempted;
  }
  return capacity::ReturnReason::kReleased;
}

capacity::AffinityOperator OperatorOf(const std::string& word) {
  using Operator = capacity::AffinityOperator;
  if (word == "In") return Operator::kIn;
  if (word == "NotIn") return Operator::kNotIn;
  return word == "Exists" ? Operator::kExists : Operator::kDoesNotExist;
}

capacity::Affinity AffinityOf(const lifecycle::Affinity& affinity) {
  capacity::Affinity out;
  for (const auto& term : affinity) {
    capacity::AffinityTerm& to = out.terms.emplace_back();
    for (const lifecycle::AffinityExpression& e : term) {
      to.expressions.push_back({e.key, OperatorOf(e.op), e.values});
    }
  }
  return out;
}

lifecycle::ConfigurationOrder::Outcome OutcomeOf(configuration::OrderOutcome outcome) {
  using Outcome = lifecycle::ConfigurationOrder::Outcome;
  switch (outcome) {
    case configuration::OrderOutcome::kWaiting:
      return Outcome::kWaiting;
    case configuration::OrderOutcome::kDone:
      return Outcome::kDone;
    case configuration::OrderOutcome::kNoPending:
      return Outcome::kNoPending;
    case configuration::OrderOutcome::kRollbackFailed:
      return Outcome::kRollbackFailed;
    case configuration::OrderOutcome::kConflict:
      return Outcome::kConflict;
    case configuration::OrderOutcome::kReplaced:
      return Outcome::kReplaced;
  }
  return Outcome::kDone;
}

lifecycle::ConfigurationOrder OrderOf(const configuration::Order& in) {
  lifecycle::ConfigurationOrder out;
  out.number = in.number;
  out.kind = in.kind == configuration::OrderKind::kRollback
                 ? lifecycle::ConfigurationOrder::Kind::kRollback
                 : lifecycle::ConfigurationOrder::Kind::kPromote;
  out.node_profile = in.node_profile;
  out.outcome = OutcomeOf(in.outcome);
  out.message = in.message;
  return out;
}

lifecycle::ClaimAnswer::Reason ReasonOf(capacity::ClaimReason reason) {
  using R = lifecycle::ClaimAnswer::Reason;
  switch (reason) {
    case capacity::ClaimReason::kSufficient:
      return R::kSufficient;
    case capacity::ClaimReason::kQueued:
      return R::kQueued;
    case capacity::ClaimReason::kPartial:
      return R::kPartial;
    case capacity::ClaimReason::kNoneAvailable:
    case capacity::ClaimReason::kUnknownInstanceType:
    case capacity::ClaimReason::kNotInZone:
      return R::kNoneAvailable;
    case capacity::ClaimReason::kPartialNodeAffinity:
      return R::kPartialNodeAffinity;
    case capacity::ClaimReason::kNoneAvailableNodeAffinity:
      return R::kNoneAvailableNodeAffinity;
  }
  return R::kSufficient;
}

lifecycle::NodeConfiguration RevisionOf(const configuration::Revision& in) {
  lifecycle::NodeConfiguration out;
  out.created_at = in.create_time;
  out.node_profile = in.node_profile;
  out.summary = in.summary;
  out.disabled = in.disabled;
  out.enable_count = in.enable_count;
  return out;
}

}  // namespace

Picture Look(const lifecycle::State& state, const std::string& name) {
  Picture picture;
  picture.pool = state.table<lifecycle::Pool>().FindVersioned(name)->row;
  const std::string cluster(lifecycle::ClusterNameOf(name));
  picture.cluster = state.table<lifecycle::Cluster>().FindVersioned(cluster)->row;
  picture.nodes = state.NodesOf(name);
  for (const lifecycle::Node* node : picture.nodes) {
    picture.rows.push_back(state.table<lifecycle::Node>().FindVersioned(node->name)->row);
  }
  picture.version = state.VersionOf(name);
  return picture;
}

lifecycle::CatalogueFacts FactsFor(const lifecycle::Pool& pool, const capacity::State& catalogue) {
  lifecycle::CatalogueFacts facts;
  facts.known = true;
  const auto* type = catalogue.FindInstanceType(pool.spec.instance_type);
  if (type != nullptr) {
    facts.type = lifecycle::TypeFacts{type->id, type->gpus, type->superchip, type->nodes_per_rack};
  }
  const auto* zone = catalogue.FindZone(pool.zone);
  if (zone != nullptr) {
    const auto& types = zone->instance_types;
    facts.offered = std::binary_search(types.begin(), types.end(), pool.spec.instance_type);
    facts.general_access = zone->access == capacity::ZoneAccess::kGeneral;
  }
  return facts;
}

std::string QuotaOf(const lifecycle::Pool& pool) {
  const auto& asked = pool.spec.compute_class;
  return absl::StrCat("organizations/", lifecycle::OrganizationOf(pool.name), "/quotas/", pool.zone,
                      "~", pool.spec.instance_type, "~", asked.empty() ? "default" : asked);
}

quota::SyncHolding RequestOf(const Picture& picture, const lifecycle::HoldingAsk& ask) {
  const lifecycle::Pool& pool = *picture.pool;
  quota::SyncHolding out;
  out.quota = QuotaOf(pool);
  out.pool_uid = pool.uid;
  out.nodes = ask.nodes;
  out.generation = ask.generation;
  out.pool = pool.name;
  out.release = ask.release;
  return out;
}

capacity::SyncClaim RequestOf(const Picture& picture, const lifecycle::ClaimAsk& ask) {
  const lifecycle::Pool& pool = *picture.pool;
  capacity::SyncClaim out;
  out.pool_uid = pool.uid;
  out.generation = ask.generation;
  out.zone = pool.zone;
  out.instance_type = pool.spec.instance_type;
  out.compute_class = ClassOf(pool);
  out.nodes = ask.nodes;
  for (const lifecycle::MachineReturn& back : ask.returns) {
    out.returns.push_back({back.machine, ReasonOf(back.reason)});
  }
  out.priority = pool.spec.priority;
  out.gang = pool.spec.gang;
  out.affinity = AffinityOf(pool.spec.node_affinity);
  out.release = ask.release;
  out.pool = pool.name;
  out.organization = std::string(lifecycle::OrganizationOf(pool.name));
  return out;
}

configuration::SyncPool RequestOf(const Picture& picture, const lifecycle::ConfigurationAsk& ask) {
  configuration::SyncPool out;
  out.pool_uid = picture.pool->uid;
  out.generation = ask.generation;
  out.release = ask.release;
  if (ask.release) return out;
  const lifecycle::Spec& spec = picture.pool->spec;
  if (spec.image) {
    out.spec.image_name = spec.image->name;
    out.spec.image_kernel = spec.image->kernel;
    if (spec.image->release_train == "latest")
      out.spec.release_train = configuration::Channel::kLatest;
  } else if (spec.gpu) {
    out.spec.gpu_version = spec.gpu->version;
  }
  out.spec.gpu = ask.gpu;
  out.spec.kubernetes = picture.cluster->kubernetes_version;
  out.spec.strategy = StrategyOf(spec);
  out.nodes_in_delivery = ask.delivering ? 1 : 0;
  out.running_profiles = ask.running_profiles;
  out.orders_told = ask.orders_told;
  if (!ask.boot_failures.machines.empty()) {
    out.boot_failures = {ask.boot_failures.node_profile, ask.boot_failures.enable_count,
                         ask.boot_failures.machines};
  }
  return out;
}

lifecycle::HoldingAnswer AnswerOf(const quota::Answer& answer) {
  using V = lifecycle::HoldingAnswer::Verdict;
  lifecycle::HoldingAnswer out;
  out.nodes = answer.nodes;
  switch (answer.verdict) {
    case quota::Verdict::kUnder:
      out.verdict = V::kUnder;
      break;
    case quota::Verdict::kOver:
      out.verdict = V::kOver;
      break;
    case quota::Verdict::kNotSet:
      out.verdict = V::kNotSet;
      break;
  }
  return out;
}

lifecycle::ClaimAnswer AnswerOf(const capacity::ClaimView& view) {
  lifecycle::ClaimAnswer out;
  out.reason = ReasonOf(view.reason);
  out.nodes = view.claim.nodes;
  out.machines = view.machines;
  for (const capacity::ClaimPart& part : view.claim.parts) out.outstanding += part.nodes;
  out.in_service = view.in_service;
  out.matching = view.matching;
  for (size_t i = 0; i < view.machines.size(); ++i) {
    out.racks.emplace(view.machines[i], view.racks[i]);
  }
  for (const capacity::Reclaimed& reclaim : view.reclaims) {
    out.reclaims.push_back({reclaim.machine, reclaim.time});
  }
  if (view.queue) out.queue = lifecycle::QueuePlace{view.queue->place, view.queue->nodes_ahead};
  return out;
}

lifecycle::ConfigurationAnswer AnswerOf(const configuration::PoolConfiguration& pool) {
  lifecycle::ConfigurationAnswer out;
  out.active = pool.active();
  if (pool.has_pending()) out.pending = RevisionOf(pool.pending);
  for (const configuration::Revision& revision : pool.revisions) {
    out.revisions.push_back(RevisionOf(revision));
  }
  out.problem = pool.problem;
  out.problem_of_spec = pool.problem_of_spec;
  if (pool.has_waiting()) out.waiting = RevisionOf(pool.waiting);
  for (const configuration::Order& order : pool.orders) out.orders.push_back(OrderOf(order));
  return out;
}

}  // namespace muster::simulation
