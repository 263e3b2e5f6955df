#include "services/lifecycle/asker.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/mutex.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/wire/times.h"
#include "services/rpc/channel.h"
#include "services/rpc/status.h"

namespace muster::lifecycle {
namespace {

namespace qv1 = quota::v1;
namespace cv1 = capacity::v1;
namespace fv1 = configuration::v1;

std::string ClassOf(const Pool& pool) {
  return pool.spec.compute_class.empty() ? "default" : pool.spec.compute_class;
}

// --- what is asked ---

qv1::HoldingRequest RequestOf(const Pool& pool, const HoldingAsk& ask) {
  qv1::HoldingRequest out;
  out.set_name(absl::StrCat("organizations/", OrganizationOf(pool.name), "/quotas/", pool.zone, "~",
                            pool.spec.instance_type, "~", ClassOf(pool), "/holdings/", pool.uid));
  out.set_nodes(ask.nodes);
  out.set_generation(ask.generation);
  out.set_pool(pool.name);
  out.set_release(ask.release);
  return out;
}

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

cv1::ClaimRequest RequestOf(const Pool& pool, const ClaimAsk& ask) {
  cv1::ClaimRequest out;
  out.set_pool_uid(pool.uid);
  out.set_generation(ask.generation);
  out.set_zone(pool.zone);
  out.set_instance_type(pool.spec.instance_type);
  out.set_compute_class(ClassOf(pool) == "spot" ? type::v1::COMPUTE_CLASS_SPOT
                                                : type::v1::COMPUTE_CLASS_DEFAULT);
  out.set_nodes(ask.nodes);
  for (const MachineReturn& back : ask.returns) {
    cv1::MachineReturn* returned = out.add_returns();
    returned->set_machine(back.machine);
    returned->set_reason(ReasonOf(back.reason));
  }
  out.set_priority(pool.spec.priority);
  out.set_gang(pool.spec.gang);
  if (!pool.spec.node_affinity.empty()) {
    *out.mutable_affinity() = AffinityOf(pool.spec.node_affinity);
  }
  out.set_release(ask.release);
  out.set_pool(pool.name);
  return out;
}

fv1::ConfigurationSpec::Strategy StrategyOf(const Spec& spec) {
  if (spec.update_strategy == "Manual") return fv1::ConfigurationSpec::STRATEGY_MANUAL;
  if (spec.update_strategy == "Always") return fv1::ConfigurationSpec::STRATEGY_ALWAYS;
  return fv1::ConfigurationSpec::STRATEGY_ON_SPEC_UPDATE;
}

fv1::ConfigurationRequest RequestOf(const Picture& picture, const ConfigurationAsk& ask) {
  fv1::ConfigurationRequest out;
  out.set_pool_uid(picture.pool->uid);
  out.set_generation(ask.generation);
  out.set_release(ask.release);
  if (ask.release) return out;
  const Spec& spec = picture.pool->spec;
  fv1::ConfigurationSpec* wanted = out.mutable_spec();
  if (spec.image) {
    wanted->set_image_name(spec.image->name);
    wanted->set_image_kernel(spec.image->kernel);
    wanted->set_release_train(spec.image->release_train);
  } else if (spec.gpu) {  // with an image it is not read
    wanted->set_gpu_version(spec.gpu->version);
  }
  wanted->set_gpu(ask.gpu);
  wanted->set_kubernetes(picture.cluster->kubernetes_version);
  wanted->set_strategy(StrategyOf(spec));
  // One or none: how many is nothing to the service, and every change would be a write.
  out.set_nodes_in_delivery(ask.delivering ? 1 : 0);
  if (!ask.boot_failures.machines.empty()) {
    fv1::BootFailures* failures = out.mutable_boot_failures();
    failures->set_node_profile(ask.boot_failures.node_profile);
    failures->set_enable_count(ask.boot_failures.enable_count);
    for (const std::string& machine : ask.boot_failures.machines) failures->add_machines(machine);
  }
  return out;
}

// --- what is answered ---

HoldingAnswer AnswerOf(const qv1::HoldingAnswer& in) {
  HoldingAnswer out;
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
  if (in.verdict() == qv1::HoldingAnswer::VERDICT_OVER) out.verdict = HoldingAnswer::Verdict::kOver;
  if (in.verdict() == qv1::HoldingAnswer::VERDICT_NOT_SET) {
    out.verdict = HoldingAnswer::Verdict::kNotSet;
  }
  return out;
}

ClaimAnswer::Reason ReasonOf(cv1::Claim::Reason reason) {
  using Reason = ClaimAnswer::Reason;
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
  // Else a word of a newer capacity service.
  return known == kReasons.end() ? Reason::kSufficient : known->second;
}

ClaimAnswer AnswerOf(const cv1::Claim& in) {
  ClaimAnswer out;
  out.reason = ReasonOf(in.reason());
  out.nodes = in.nodes();
  out.machines.assign(in.machines().begin(), in.machines().end());
  std::sort(out.machines.begin(), out.machines.end());
  out.outstanding = in.outstanding();
  out.in_service = in.in_service();
  out.matching = in.matching();
  for (int i = 0; i < std::min(in.racks_size(), in.machines_size()); ++i) {
    out.racks.emplace(in.machines(i), in.racks(i));
  }
  for (const cv1::MachineReclaim& reclaim : in.reclaims()) {
    out.reclaims.push_back({reclaim.machine(), FromTimestamp(reclaim.reclaim_time())});
  }
  if (in.has_queue()) {
    out.queue = QueuePlace{in.queue().place(), in.queue().nodes_ahead(), {}, {}};
    if (in.queue().has_wait()) {
      out.queue->earliest = absl::Seconds(in.queue().wait().earliest().seconds());
      out.queue->latest = absl::Seconds(in.queue().wait().latest().seconds());
    }
  }
  return out;
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

ConfigurationAnswer AnswerOf(const fv1::PoolConfiguration& in) {
  ConfigurationAnswer out;
  out.active = in.active();
  if (in.has_pending()) out.pending = ConfigurationOf(in.pending());
  for (const fv1::Revision& revision : in.revisions()) {
    out.revisions.push_back(ConfigurationOf(revision));
  }
  out.problem = in.problem();
  if (in.has_waiting()) out.waiting = ConfigurationOf(in.waiting());
  for (const fv1::ConfigurationOrder& order : in.orders()) out.orders.push_back(OrderOf(order));
  return out;
}

// --- one batch call ---

template <class T>
void NoAnswer(Answer<T>& slot, const absl::Status& status) {
  slot.state = Answer<T>::State::kAway;
  slot.error = status.ToString();
}

// Counts calls under way.
class Pending {
 public:
  void Begin() {
    MutexLock lock(mutex_);
    ++calls_;
  }
  void End() {
    MutexLock lock(mutex_);
    if (--calls_ == 0) none_.SignalAll();
  }
  void Wait() {
    MutexLock lock(mutex_);
    while (calls_ > 0) none_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar none_;
  int calls_ MUSTER_GUARDED_BY(mutex_) = 0;
};

// The requests of one service and where their answers go.
template <class Request, class Response, class T>
struct Call {
  grpc::ClientContext context = {};
  Request request = {};
  Response response = {};
  grpc::Status status = {};
  std::vector<Answer<T>*> slots = {};

  // `take(result)`: the answer in one result.
  template <class Take>
  void Distribute(Take take) {
    const absl::Status failed =
        status.ok() && response.results_size() != static_cast<int>(slots.size())
            ? absl::InternalError("The number of answers is wrong.")
            : rpc::FromGrpcStatus(status);
    for (size_t i = 0; i < slots.size(); ++i) {
      if (!failed.ok()) {
        NoAnswer(*slots[i], failed);
        continue;
      }
      const auto& result = response.results(static_cast<int>(i));
      if (result.has_error()) {
        NoAnswer(*slots[i], rpc::FromRpcStatus(result.error()));
        continue;
      }
      slots[i]->state = Answer<T>::State::kHere;
      slots[i]->value = AnswerOf(take(result));
    }
  }
};

template <class Call>
bool IsMalformed(const Call& call) {
  return call.status.error_code() == grpc::StatusCode::INVALID_ARGUMENT;
}

using QuotaCall =
    Call<qv1::BatchSyncHoldingsRequest, qv1::BatchSyncHoldingsResponse, HoldingAnswer>;
using CapacityCall = Call<cv1::BatchSyncClaimsRequest, cv1::BatchSyncClaimsResponse, ClaimAnswer>;
using ConfigurationCall = Call<fv1::BatchSyncPoolConfigurationsRequest,
                               fv1::BatchSyncPoolConfigurationsResponse, ConfigurationAnswer>;

}  // namespace

Asker::Asker(const Peers& peers)
    : quota_(qv1::QuotaService::NewStub(peers.quota)),
      capacity_(cv1::CapacityService::NewStub(peers.capacity)),
      configuration_(fv1::ConfigurationService::NewStub(peers.configuration)) {}

void Asker::Ask(absl::Span<Picture> pictures, absl::Duration timeout) const {
  QuotaCall quota;
  CapacityCall capacity;
  ConfigurationCall configuration;
  for (Picture& picture : pictures) {
    const Demand& demand = picture.demand;
    if (demand.holding) {
      *quota.request.add_holdings() = RequestOf(*picture.pool, *demand.holding);
      quota.slots.push_back(&picture.answers.holding);
    }
    if (demand.claim) {
      *capacity.request.add_claims() = RequestOf(*picture.pool, *demand.claim);
      capacity.slots.push_back(&picture.answers.claim);
    }
    if (demand.configuration) {
      *configuration.request.add_configurations() = RequestOf(picture, *demand.configuration);
      configuration.slots.push_back(&picture.answers.configuration);
    }
  }
  Pending pending;
  // The deadline lets every call end, so that the wait does.
  const auto start = [&](auto& call, auto send) {
    if (call.slots.empty()) return;
    rpc::PrepareCall(call.context, timeout);
    pending.Begin();
    send([&call, &pending](grpc::Status status) {
      call.status = std::move(status);
      pending.End();
    });
  };
  start(quota, [&](auto done) {
    quota_->async()->BatchSyncHoldings(&quota.context, &quota.request, &quota.response, done);
  });
  start(capacity, [&](auto done) {
    capacity_->async()->BatchSyncClaims(&capacity.context, &capacity.request, &capacity.response,
                                        done);
  });
  start(configuration, [&](auto done) {
    configuration_->async()->BatchSyncPoolConfigurations(
        &configuration.context, &configuration.request, &configuration.response, done);
  });
  pending.Wait();
  if (pictures.size() > 1 &&
      (IsMalformed(quota) || IsMalformed(capacity) || IsMalformed(configuration))) {
    // One of them spoils the whole batch: it must not hold up the others. Asking twice does no
    // harm.
    const size_t half = pictures.size() / 2;
    Ask(pictures.subspan(0, half), timeout);
    Ask(pictures.subspan(half), timeout);
    return;
  }
  quota.Distribute([](const auto& result) { return result.answer(); });
  capacity.Distribute([](const auto& result) { return result.claim(); });
  configuration.Distribute([](const auto& result) { return result.configuration(); });
}

}  // namespace muster::lifecycle
