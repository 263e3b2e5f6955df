#include "services/lifecycle/peers/wire/peer_wire.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "services/common/quota_name.h"
#include "services/common/resource_name.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/wire/times.h"

namespace muster::lifecycle {
namespace {

namespace qv1 = quota::v1;
namespace cv1 = capacity::v1;
namespace fv1 = configuration::v1;

cv1::MachineReturn::Reason ReasonOf(MachineReturn::Reason reason) {
  switch (reason) {
    case MachineReturn::Reason::kReleased:
      return cv1::MachineReturn::REASON_RELEASED;
    case MachineReturn::Reason::kBroken:
      return cv1::MachineReturn::REASON_BROKEN;
    case MachineReturn::Reason::kPreempted:
      return cv1::MachineReturn::REASON_PREEMPTED;
  }
  return cv1::MachineReturn::REASON_UNSPECIFIED;
}

cv1::AffinityExpression::Operator OperatorOf(const std::string& word) {
  if (word == "In") return cv1::AffinityExpression::OPERATOR_IN;
  if (word == "NotIn") return cv1::AffinityExpression::OPERATOR_NOT_IN;
  if (word == "Exists") return cv1::AffinityExpression::OPERATOR_EXISTS;
  return cv1::AffinityExpression::OPERATOR_DOES_NOT_EXIST;
}

cv1::Affinity AffinityOf(const Affinity& affinity) {
  cv1::Affinity out;
  for (const auto& term : affinity) {
    cv1::AffinityTerm* to = out.add_terms();
    for (const AffinityExpression& expression : term) {
      cv1::AffinityExpression* e = to->add_expressions();
      e->set_key(expression.key);
      e->set_operator_(OperatorOf(expression.op));
      e->mutable_values()->Assign(expression.values.begin(), expression.values.end());
    }
  }
  return out;
}

fv1::ConfigurationSpec::Strategy StrategyOf(const Spec& spec) {
  if (spec.update_strategy == "Manual") return fv1::ConfigurationSpec::STRATEGY_MANUAL;
  if (spec.update_strategy == "Always") return fv1::ConfigurationSpec::STRATEGY_ALWAYS;
  return fv1::ConfigurationSpec::STRATEGY_ON_SPEC_UPDATE;
}

ClaimFacts::Reason ReasonOf(cv1::Claim::Reason reason) {
  using Reason = ClaimFacts::Reason;
  static const std::map<int, Reason> kReasons = {
      {cv1::Claim::REASON_SUFFICIENT, Reason::kSufficient},
      {cv1::Claim::REASON_QUEUED, Reason::kQueued},
      {cv1::Claim::REASON_PARTIAL, Reason::kPartial},
      {cv1::Claim::REASON_NONE_AVAILABLE, Reason::kNoneAvailable},
      {cv1::Claim::REASON_UNKNOWN_INSTANCE_TYPE, Reason::kNoneAvailable},
      {cv1::Claim::REASON_NOT_IN_ZONE, Reason::kNoneAvailable},
      {cv1::Claim::REASON_PARTIAL_NODE_AFFINITY, Reason::kPartialNodeAffinity},
      {cv1::Claim::REASON_NONE_AVAILABLE_NODE_AFFINITY, Reason::kNoneAvailableNodeAffinity}};
  const auto known = kReasons.find(reason);
  // An unknown reason is a newer capacity service's.
  return known == kReasons.end() ? Reason::kSufficient : known->second;
}

NodeConfiguration ConfigurationOf(const fv1::Revision& in) {
  NodeConfiguration out;
  // To the microsecond, as Postgres keeps it.
  out.created_at = absl::FromUnixSeconds(in.create_time().seconds()) +
                   absl::Microseconds(in.create_time().nanos() / 1000);
  out.node_profile = in.node_profile();
  out.summary.assign(in.summary().begin(), in.summary().end());
  out.disabled = in.disabled();
  out.enable_count = in.enable_count();
  return out;
}

ConfigurationOrder::Outcome OutcomeOf(fv1::ConfigurationOrder::Outcome outcome) {
  using Outcome = ConfigurationOrder::Outcome;
  switch (static_cast<int>(outcome)) {
    case fv1::ConfigurationOrder::OUTCOME_WAITING:
      return Outcome::kWaiting;
    case fv1::ConfigurationOrder::OUTCOME_NO_PENDING:
      return Outcome::kNoPending;
    case fv1::ConfigurationOrder::OUTCOME_ROLLBACK_FAILED:
      return Outcome::kRollbackFailed;
    case fv1::ConfigurationOrder::OUTCOME_CONFLICT:
      return Outcome::kConflict;
    case fv1::ConfigurationOrder::OUTCOME_REPLACED:
      return Outcome::kReplaced;
  }
  return Outcome::kDone;
}

// The reclaims in a claim or in an obstacle.
template <class Message>
std::vector<MachineReclaim> ReclaimsOf(const Message& in) {
  std::vector<MachineReclaim> out;
  for (const cv1::MachineReclaim& reclaim : in.reclaims())
    out.push_back({reclaim.machine(), FromTimestamp(reclaim.reclaim_time())});
  return out;
}

ConfigurationOrder OrderOf(const fv1::ConfigurationOrder& in) {
  ConfigurationOrder out;
  out.number = in.number();
  out.kind = in.kind() == fv1::ConfigurationOrder::KIND_ROLLBACK
                 ? ConfigurationOrder::Kind::kRollback
                 : ConfigurationOrder::Kind::kPromote;
  out.node_profile = in.node_profile();
  out.outcome = OutcomeOf(in.outcome());
  out.message = in.message();
  return out;
}

}  // namespace

std::string ClassOf(const Pool& pool) { return pool.spec.spot() ? "spot" : "default"; }

std::string QuotaNameOf(const Pool& pool) {
  return muster::QuotaNameOf(OrganizationOf(pool.name),
                             QuotaIdOf(pool.zone, pool.spec.instance_type, ClassOf(pool)));
}

type::v1::ComputeClass ComputeClassOf(const Pool& pool) {
  return pool.spec.spot() ? type::v1::COMPUTE_CLASS_SPOT : type::v1::COMPUTE_CLASS_DEFAULT;
}

qv1::HoldingRequest RequestOf(const Pool& pool, const HoldingAsk& ask) {
  qv1::HoldingRequest out;
  out.set_name(absl::StrCat(QuotaNameOf(pool), "/holdings/", pool.uid));
  out.set_nodes(ask.nodes);
  out.set_generation(ask.generation);
  out.set_pool(pool.name);
  out.set_release(ask.release);
  out.set_at_least(ask.at_least);
  return out;
}

cv1::ClaimRequest RequestOf(const Pool& pool, const ClaimAsk& ask) {
  cv1::ClaimRequest out;
  out.set_pool_uid(pool.uid);
  out.set_generation(ask.generation);
  out.set_zone(pool.zone);
  out.set_instance_type(pool.spec.instance_type);
  out.set_compute_class(ComputeClassOf(pool));
  out.set_nodes(ask.nodes);
  out.set_wanted_nodes(ask.wanted_nodes);
  out.set_leaving_nodes(ask.leaving_nodes);
  for (const MachineReturn& back : ask.returns) {
    cv1::MachineReturn* returned = out.add_returns();
    returned->set_machine(back.machine);
    returned->set_reason(ReasonOf(back.reason));
    MUSTER_SET_TIME(*returned, grant_time, back.grant_time);
  }
  out.set_priority(pool.spec.priority);
  out.set_gang(pool.spec.gang);
  if (!pool.spec.node_affinity.empty()) {
    *out.mutable_affinity() = AffinityOf(pool.spec.node_affinity);
  }
  out.set_release(ask.release);
  out.set_pool(pool.name);
  out.set_organization(std::string(OrganizationOf(pool.name)));
  return out;
}

fv1::ConfigurationRequest RequestOf(const Pool& pool, const Cluster& cluster,
                                    const ConfigurationAsk& ask) {
  fv1::ConfigurationRequest out;
  out.set_pool_uid(pool.uid);
  out.set_generation(ask.generation);
  out.set_release(ask.release);
  if (ask.release) return out;
  const Spec& spec = pool.spec;
  fv1::ConfigurationSpec* wanted = out.mutable_spec();
  if (spec.image) {
    wanted->set_image_name(spec.image->name);
    wanted->set_image_kernel(spec.image->kernel);
    wanted->set_release_train(spec.image->release_train);
  } else if (spec.gpu) {  // with an image it is not read
    wanted->set_gpu_version(spec.gpu->version);
  }
  wanted->set_gpu(ask.gpu);
  wanted->set_kubernetes(cluster.kubernetes_version);
  wanted->set_strategy(StrategyOf(spec));
  // 1 or 0: the number does not matter to the service, and every change of it would be a write.
  out.set_nodes_in_delivery(ask.delivering ? 1 : 0);
  out.mutable_running_profiles()->Assign(ask.running_profiles.begin(), ask.running_profiles.end());
  out.set_orders_told(ask.orders_told);
  out.set_pool(pool.name);
  if (!ask.boot_failures.machines.empty()) {
    fv1::BootFailures* failures = out.mutable_boot_failures();
    failures->set_node_profile(ask.boot_failures.node_profile);
    failures->set_enable_count(ask.boot_failures.enable_count);
    for (const std::string& machine : ask.boot_failures.machines) failures->add_machines(machine);
  }
  return out;
}

HoldingFacts FactsOf(const qv1::HoldingAnswer& in) {
  HoldingFacts out;
  out.nodes = in.nodes();
  out.limit = in.limit();
  out.held = in.held();
  std::vector<std::string> holders;
  for (const qv1::Holder& holder : in.holders()) {
    holders.push_back(absl::StrCat(holder.pool(), " (", holder.nodes(), ")"));
  }
  if (in.other_holders() > 0) {
    holders.push_back(absl::StrCat(in.other_holders(), " more (", in.other_nodes(), ")"));
  }
  out.holders = absl::StrJoin(holders, ", ");
  if (in.verdict() == qv1::HoldingAnswer::VERDICT_OVER) out.verdict = HoldingFacts::Verdict::kOver;
  if (in.verdict() == qv1::HoldingAnswer::VERDICT_NOT_SET) {
    out.verdict = HoldingFacts::Verdict::kNotSet;
  }
  return out;
}

ClaimFacts FactsOf(const cv1::Claim& in) {
  ClaimFacts out;
  out.reason = ReasonOf(in.reason());
  out.nodes = in.nodes();
  out.machines.assign(in.machines().begin(), in.machines().end());
  std::sort(out.machines.begin(), out.machines.end());
  out.outstanding = in.outstanding();
  out.in_service = in.in_service();
  out.matching = in.matching();
  out.matching_in_repair = in.matching_in_repair();
  for (int i = 0; i < std::min(in.racks_size(), in.machines_size()); ++i) {
    out.racks.emplace(in.machines(i), in.racks(i));
  }
  for (int i = 0; i < std::min(in.request_times_size(), in.machines_size()); ++i) {
    out.request_times.emplace(in.machines(i), FromTimestamp(in.request_times(i)));
  }
  for (int i = 0; i < std::min(in.grant_times_size(), in.machines_size()); ++i) {
    out.grant_times.emplace(in.machines(i), FromTimestamp(in.grant_times(i)));
  }
  out.reclaims = ReclaimsOf(in);
  if (in.has_queue()) {
    out.queue = QueuePlace{in.queue().place(), in.queue().nodes_ahead(), {}, {}};
    if (in.queue().has_wait()) {
      out.queue->earliest = absl::Seconds(in.queue().wait().earliest().seconds());
      out.queue->latest = absl::Seconds(in.queue().wait().latest().seconds());
    }
  }
  return out;
}

bool FillIn(const cv1::Claim& in, KnownClaim& known, ClaimFacts& facts) {
  if (!in.machines_unchanged()) return true;
  if (known.print.empty() || in.machines_print() != known.print) return false;
  facts.machines = std::move(known.facts.machines);
  facts.racks = std::move(known.facts.racks);
  facts.request_times = std::move(known.facts.request_times);
  facts.grant_times = std::move(known.facts.grant_times);
  return true;
}

ReclaimedFor ReclaimedOf(const cv1::ExplainClaimResponse& in) {
  ReclaimedFor out;
  for (const cv1::ClaimObstacle& obstacle : in.obstacles()) {
    if (obstacle.code() != cv1::ClaimObstacle::CODE_BEING_RECLAIMED) continue;
    out.machines = obstacle.nodes();
    out.oldest = ReclaimsOf(obstacle);
    out.last = FromTimestamp(obstacle.last_reclaim_time());
  }
  return out;
}

ConfigurationFacts FactsOf(const fv1::PoolConfiguration& in) {
  ConfigurationFacts out;
  out.active = in.active();
  if (in.has_pending()) out.pending = ConfigurationOf(in.pending());
  for (const fv1::Revision& revision : in.revisions()) {
    out.revisions.push_back(ConfigurationOf(revision));
  }
  out.problem = in.problem();
  out.problem_of_spec = in.problem_of_spec();
  if (in.has_waiting()) out.waiting = ConfigurationOf(in.waiting());
  for (const fv1::ConfigurationOrder& order : in.orders()) out.orders.push_back(OrderOf(order));
  return out;
}

std::optional<QuotaName> ParseQuotaName(absl::string_view name) {
  auto ids = MatchName("organizations/*/quotas/*", name);
  if (!ids) ids = MatchName("organizations/*/quotas/*/holdings/*", name);
  if (!ids) return std::nullopt;
  const std::vector<std::string> key = absl::StrSplit((*ids)[1], '~');
  if (key.size() != 3) return std::nullopt;
  return QuotaName{(*ids)[0], key[0], key[1], key[2], ids->size() > 2 ? (*ids)[2] : ""};
}

size_t PrintOf(const cv1::Claim& claim) {
  return absl::HashOf(claim.generation(), claim.nodes(), claim.outstanding(),
                      claim.reclaim_generation(), claim.queue_time().seconds(),
                      claim.queue_time().nanos()) |
         1;
}

size_t PrintOf(const fv1::PoolConfiguration& configuration) {
  return absl::HashOf(configuration.SerializeAsString()) | 1;
}

}  // namespace muster::lifecycle
