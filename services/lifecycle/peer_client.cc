#include "services/lifecycle/peer_client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/mutex.h"
#include "services/lifecycle/heard_wire.h"
#include "services/lifecycle/peers/peer_wire.h"
#include "services/rpc/channel.h"
#include "services/rpc/status.h"

namespace muster::lifecycle {
namespace {

namespace qv1 = quota::v1;
namespace cv1 = capacity::v1;
namespace fv1 = configuration::v1;

// --- one batch call ---

template <class T>
void NoAnswer(Answer<T>& slot, const absl::Status& status) {
  slot.state = Answer<T>::State::kAway;
  slot.error = status.ToString();
  const auto detail = muster::error::DetailOf(status);
  if (!detail || !(absl::IsAborted(status) || absl::IsFailedPrecondition(status))) return;
  slot.state = Answer<T>::State::kRefused;
  slot.reason = detail->reason;
  const auto last = detail->metadata.find("last_generation");
  if (last != detail->metadata.end()) (void)absl::SimpleAtoi(last->second, &slot.last_generation);
}

// How long a service may take to show that it answers again.
constexpr absl::Duration kProbeTimeout = absl::Seconds(2);
const grpc::Status kSilent(grpc::StatusCode::UNAVAILABLE,
                           "It did not answer in time lately; it is asked again once it does.");

PeerBreaker::Outcome OutcomeOf(const grpc::Status& status) {
  using Outcome = PeerBreaker::Outcome;
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) return Outcome::kSilent;
  return status.error_code() == grpc::StatusCode::UNAVAILABLE ? Outcome::kAway : Outcome::kAnswered;
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
  std::vector<Picture*> pictures = {};
  bool sent = false;

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const Picture* picture : pictures) names.push_back(picture->pool->name);
    return names;
  }

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

// Refused as a whole for what one pool, or all together, have in it: malformed, or too large.
template <class Call>
bool IsRefusedWhole(const Call& call) {
  return call.status.error_code() == grpc::StatusCode::INVALID_ARGUMENT ||
         call.status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
}

// The calls by which the others are told what should be.
struct Syncs {
  using QuotaCall =
      Call<qv1::BatchSyncHoldingsRequest, qv1::BatchSyncHoldingsResponse, HoldingAnswer>;
  using CapacityCall = Call<cv1::BatchSyncClaimsRequest, cv1::BatchSyncClaimsResponse, ClaimAnswer>;
  using ConfigurationCall = Call<fv1::BatchSyncPoolConfigurationsRequest,
                                 fv1::BatchSyncPoolConfigurationsResponse, ConfigurationAnswer>;
  static constexpr auto kQuota = [](auto& stub, auto... call) {
    stub.async()->BatchSyncHoldings(call...);
  };
  static constexpr auto kCapacity = [](auto& stub, auto... call) {
    stub.async()->BatchSyncClaims(call...);
  };
  static constexpr auto kConfiguration = [](auto& stub, auto... call) {
    stub.async()->BatchSyncPoolConfigurations(call...);
  };
};

// The same questions, by calls that change nothing.
struct Checks {
  using QuotaCall = Call<qv1::CheckQuotaRequest, qv1::CheckQuotaResponse, HoldingAnswer>;
  using CapacityCall = Call<cv1::CheckClaimsRequest, cv1::CheckClaimsResponse, ClaimAnswer>;
  using ConfigurationCall = Call<fv1::CheckPoolConfigurationsRequest,
                                 fv1::CheckPoolConfigurationsResponse, ConfigurationAnswer>;
  static constexpr auto kQuota = [](auto& stub, auto... call) {
    stub.async()->CheckQuota(call...);
  };
  static constexpr auto kCapacity = [](auto& stub, auto... call) {
    stub.async()->CheckClaims(call...);
  };
  static constexpr auto kConfiguration = [](auto& stub, auto... call) {
    stub.async()->CheckPoolConfigurations(call...);
  };
};

// The same for one pool.
template <class Request>
Request FirstOf(const Request& all) {
  Request one;
  if constexpr (requires { all.holdings(0); }) {
    if (all.holdings_size() > 0) *one.add_holdings() = all.holdings(0);
  } else if constexpr (requires { all.claims(0); }) {
    if (all.claims_size() > 0) *one.add_claims() = all.claims(0);
  } else {
    if (all.configurations_size() > 0) *one.add_configurations() = all.configurations(0);
  }
  return one;
}

}  // namespace

// The breaker of a service, and what it is probed with: a request that it did not answer. Asking
// once more does no harm: requests bear their generation.
struct PeerClient::Guard {
  explicit Guard(std::shared_ptr<PeerBreaker> its) : breaker(std::move(its)) {}

  // `send(call, done)`; `one`: the request that the service is probed with.
  template <class Call, class Request, class Send>
  void Ended(const Call& call, Request one, Send send) {
    if (!call.sent) return;
    const PeerBreaker::Outcome outcome = OutcomeOf(call.status);
    if (outcome != PeerBreaker::Outcome::kAnswered) {
      probe = [its = breaker, one = std::move(one), send] {
        auto again = std::make_shared<Call>();
        again->request = one;
        rpc::PrepareCall(again->context, kProbeTimeout);
        send(*again,
             [again, its](const grpc::Status& status) { its->ProbeEnded(OutcomeOf(status)); });
      };
    }
    breaker->Ended(outcome, call.Names());
  }

  const std::shared_ptr<PeerBreaker> breaker;
  std::function<void()> probe = {};
};

PeerClient::PeerClient(const Peers& peers, const SteadyClock* clock, PeerBreaker::OnBack on_back)
    : PeerClient(peers) {
  for (const char* peer : {"quota", "capacity", "configuration"}) {
    guards_.push_back(std::make_shared<Guard>(std::make_shared<PeerBreaker>(peer, clock, on_back)));
  }
}

void PeerClient::Probe() const {
  for (const auto& guard : guards_) {
    if (guard->breaker->BeginProbe()) guard->probe();
  }
}

std::vector<std::shared_ptr<const PeerBreaker>> PeerClient::breakers() const {
  std::vector<std::shared_ptr<const PeerBreaker>> breakers;
  for (const auto& guard : guards_) breakers.push_back(guard->breaker);
  return breakers;
}

PeerClient::PeerClient(const Peers& peers)
    : quota_(qv1::QuotaService::NewStub(peers.quota)),
      capacity_(cv1::CapacityService::NewStub(peers.capacity)),
      configuration_(fv1::ConfigurationService::NewStub(peers.configuration)) {}

void PeerClient::Ask(absl::Span<Picture> pictures, absl::Duration timeout) const {
  AskBy<Syncs>(pictures, timeout);
}

void PeerClient::Check(absl::Span<Picture> pictures, absl::Duration timeout) const {
  AskBy<Checks>(pictures, timeout);
}

template <class Calls>
void PeerClient::AskBy(absl::Span<Picture> pictures, absl::Duration timeout) const {
  typename Calls::QuotaCall quota;
  typename Calls::CapacityCall capacity;
  typename Calls::ConfigurationCall configuration;
  for (Picture& picture : pictures) {
    const Demand& demand = picture.demand;
    if (demand.holding) {
      *quota.request.add_holdings() = RequestOf(*picture.pool, *demand.holding);
      quota.slots.push_back(&picture.answers.holding);
      quota.pictures.push_back(&picture);
    }
    if (demand.claim) {
      *capacity.request.add_claims() = RequestOf(*picture.pool, *demand.claim);
      capacity.slots.push_back(&picture.answers.claim);
      capacity.pictures.push_back(&picture);
    }
    if (demand.configuration) {
      *configuration.request.add_configurations() =
          RequestOf(*picture.pool, *picture.cluster, *demand.configuration);
      configuration.slots.push_back(&picture.answers.configuration);
      configuration.pictures.push_back(&picture);
    }
  }
  Pending pending;
  // The deadline lets every call end, so that the wait does.
  const auto start = [&](auto& call, size_t guard, const auto& send) {
    if (call.slots.empty()) return;
    if (!guards_.empty() && !guards_[guard]->breaker->MayAsk(call.Names())) {
      call.status = kSilent;
      return;
    }
    call.sent = true;
    rpc::PrepareCall(call.context, timeout);
    pending.Begin();
    send(call, [&call, &pending](grpc::Status status) {
      call.status = std::move(status);
      pending.End();
    });
  };
  const auto send_quota = [stub = quota_](auto& call, auto done) {
    Calls::kQuota(*stub, &call.context, &call.request, &call.response, done);
  };
  const auto send_capacity = [stub = capacity_](auto& call, auto done) {
    Calls::kCapacity(*stub, &call.context, &call.request, &call.response, done);
  };
  const auto send_configuration = [stub = configuration_](auto& call, auto done) {
    Calls::kConfiguration(*stub, &call.context, &call.request, &call.response, done);
  };
  start(quota, 0, send_quota);
  start(capacity, 1, send_capacity);
  start(configuration, 2, send_configuration);
  pending.Wait();
  if (!guards_.empty()) {
    guards_[0]->Ended(quota, FirstOf(quota.request), send_quota);
    guards_[1]->Ended(capacity, FirstOf(capacity.request), send_capacity);
    guards_[2]->Ended(configuration, FirstOf(configuration.request), send_configuration);
  }
  if (pictures.size() > 1 &&
      (IsRefusedWhole(quota) || IsRefusedWhole(capacity) || IsRefusedWhole(configuration))) {
    // One of them spoils the whole batch: it must not hold up the others. Asking twice does no
    // harm.
    const size_t half = pictures.size() / 2;
    AskBy<Calls>(pictures.subspan(0, half), timeout);
    AskBy<Calls>(pictures.subspan(half), timeout);
    return;
  }
  quota.Distribute([](const auto& result) { return result.answer(); });
  capacity.Distribute([](const auto& result) { return result.claim(); });
  configuration.Distribute([](const auto& result) { return result.configuration(); });
  for (size_t i = 0; i < capacity.slots.size(); ++i) {
    if (!capacity.slots[i]->here()) continue;
    capacity.pictures[i]->claim_print =
        PrintOf(capacity.response.results(static_cast<int>(i)).claim());
  }
  for (size_t i = 0; i < configuration.slots.size(); ++i) {
    if (!configuration.slots[i]->here()) continue;
    configuration.pictures[i]->configuration_print =
        PrintOf(configuration.response.results(static_cast<int>(i)).configuration());
  }
}

std::optional<Picture> PictureOf(const State& state, const std::string& name) {
  const Versioned<Pool>* pool = state.table<Pool>().FindVersioned(name);
  if (pool == nullptr) return std::nullopt;
  Picture picture;
  picture.pool = pool->row;
  picture.cluster =
      state.table<Cluster>().FindVersioned(name.substr(0, name.rfind("/nodePools/")))->row;
  for (const Node* node : state.NodesOf(name)) {
    picture.rows.push_back(state.table<Node>().FindVersioned(node->name)->row);
    picture.nodes.push_back(node);
  }
  picture.version = state.VersionOf(name);
  return picture;
}

void AddTaken(const State& state, Picture& picture) {
  if (!picture.answers.claim.here()) return;
  ClaimAnswer& claim = picture.answers.claim.value;
  claim.taken = state.TakenElsewhere(picture.pool->uid, claim.machines);
}

void Complete(Picture& picture, const CatalogueMirror& catalogue) {
  picture.catalogue = catalogue.Facts(picture.pool->spec.instance_type, picture.pool->zone);
  picture.demand = DemandOf(*picture.pool, picture.nodes, picture.catalogue);
}

namespace {

// A call that is waited for.
template <class Stub, class Method, class Request, class Response>
grpc::Status CallNow(Stub& stub, Method method, absl::Duration timeout, const Request& request,
                     Response& response) {
  grpc::ClientContext context;
  rpc::PrepareCall(context, timeout);
  return (stub.*method)(&context, request, &response);
}

}  // namespace

v1::NodePoolPreview::Quota PeerClient::AskQuota(const Pool& pool, int64_t charge,
                                                absl::Duration timeout) const {
  v1::NodePoolPreview::Quota out;
  out.set_nodes(charge);
  out.set_reason("InternalError");
  qv1::CheckQuotaRequest request;
  *request.add_holdings() = RequestOf(pool, HoldingAsk{charge, 0, false});
  qv1::CheckQuotaResponse response;
  const grpc::Status status =
      CallNow(*quota_, &qv1::QuotaService::Stub::CheckQuota, timeout, request, response);
  if (!status.ok() || response.results_size() != 1 || response.results(0).has_error()) return out;
  const qv1::HoldingAnswer& answer = response.results(0).answer();
  out.set_limit(answer.limit());
  out.set_held(answer.held());
  switch (AnswerOf(answer).verdict) {
    case HoldingAnswer::Verdict::kUnder:
      out.set_reason("Under");
      break;
    case HoldingAnswer::Verdict::kOver:
      out.set_reason("Over");
      break;
    case HoldingAnswer::Verdict::kNotSet:
      out.set_reason("NotSet");
      break;
  }
  return out;
}

v1::NodePoolPreview::Capacity PeerClient::AskPlaces(const Pool& pool, int64_t nodes,
                                                    absl::Duration timeout) const {
  v1::NodePoolPreview::Capacity out;
  out.set_nodes(nodes);
  cv1::FindPlacementsRequest request;
  request.add_zones(pool.zone);
  request.add_requests()->set_instance_type(pool.spec.instance_type);
  request.mutable_requests(0)->set_nodes(nodes);
  request.mutable_requests(0)->set_compute_class(ComputeClassOf(pool));
  cv1::FindPlacementsResponse response;
  const grpc::Status status =
      CallNow(*capacity_, &cv1::CapacityService::Stub::FindPlacements, timeout, request, response);
  if (!status.ok() || response.zones_size() != 1 || response.zones(0).placements_size() != 1) {
    out.set_problem(status.ok() ? "Capacity knows nothing of the zone." : status.error_message());
    return out;
  }
  out.set_free_nodes(response.zones(0).placements(0).free());
  out.set_reclaimable_nodes(response.zones(0).placements(0).reclaimable());
  return out;
}

ReclaimedFor PeerClient::AskReclaimed(const std::string& pool_uid, absl::Duration timeout) const {
  cv1::ExplainClaimRequest request;
  request.set_name(absl::StrCat("claims/", pool_uid));
  cv1::ExplainClaimResponse response;
  const bool told =
      CallNow(*capacity_, &cv1::CapacityService::Stub::ExplainClaim, timeout, request, response)
          .ok();
  return told ? ReclaimedOf(response) : ReclaimedFor{};
}

}  // namespace muster::lifecycle
