#include "services/lifecycle/peers/peer_client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "services/common/cause.h"
#include "services/common/error.h"
#include "services/common/latch.h"
#include "services/common/mutex.h"
#include "services/lifecycle/peers/wire/peer_wire.h"
#include "services/rpc/client/channel.h"
#include "services/rpc/status.h"

namespace muster::lifecycle {
namespace {

namespace qv1 = quota::v1;
namespace cv1 = capacity::v1;
namespace fv1 = configuration::v1;

constexpr const char* kPeerNames[] = {"quota", "capacity", "configuration"};

// --- one batch call ---

// `error` is for people, at a place that names the service.
template <class T>
void NoAnswer(PeerReply<T>& slot, const absl::Status& status) {
  slot.state = PeerReply<T>::State::kAway;
  slot.error = std::string(muster::error::FromPeer(status, "It").message());
  const auto detail = muster::error::DetailOf(status);
  if (!detail || !(absl::IsAborted(status) || absl::IsFailedPrecondition(status))) return;
  slot.state = PeerReply<T>::State::kRefused;
  slot.reason = detail->reason;
  const auto last = detail->metadata.find("last_generation");
  if (last != detail->metadata.end()) (void)absl::SimpleAtoi(last->second, &slot.last_generation);
}

// The timeout of a probe.
constexpr absl::Duration kProbeTimeout = absl::Seconds(2);
// The status of a call that was not made because the service is known to be silent.
grpc::Status Silent() {
  return rpc::ToGrpcStatus(muster::error::Unavailable(
      "It did not answer in time lately; it is asked again once it does."));
}

// That of one that says OK and answers more or fewer than it was asked.
grpc::Status WrongNumber() {
  return rpc::ToGrpcStatus(muster::error::Make(
      absl::StatusCode::kInternal, "The number of answers is wrong.", {.reason = "INTERNAL"}));
}

// True when the service accepts no more of us for now. Without a reason in the error it is gRPC
// that finds a message too large.
bool IsHeldBack(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED &&
         muster::error::DetailOf(rpc::FromGrpcStatus(status)).has_value();
}

// True when the whole batch was refused because of what is in it: something malformed, or too much.
bool IsRefusedWhole(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::INVALID_ARGUMENT ||
         (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED && !IsHeldBack(status));
}

// A service that refuses us whatever we ask is as good as away: pools wait for it likewise.
PeerBreaker::Outcome OutcomeOf(const grpc::Status& status) {
  using Outcome = PeerBreaker::Outcome;
  switch (status.error_code()) {
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return Outcome::kSilent;
    case grpc::StatusCode::OK:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::FAILED_PRECONDITION:
      return Outcome::kAnswered;
    default:
      return IsRefusedWhole(status) ? Outcome::kAnswered : Outcome::kAway;
  }
}

PeerClient::Heard HeardBy(const grpc::Status& status) {
  using Heard = PeerClient::Heard;
  if (OutcomeOf(status) == PeerBreaker::Outcome::kAnswered) return Heard::kAnswered;
  const bool fails = status.error_code() == grpc::StatusCode::INTERNAL ||
                     status.error_code() == grpc::StatusCode::UNKNOWN;
  return fails ? Heard::kFailed : Heard::kAway;
}

// The status as it is logged: with a cause if the service does not do its part.
absl::Status EndOf(const grpc::Status& status) {
  absl::Status ended = muster::error::FromPeer(rpc::FromGrpcStatus(status), "It");
  const bool refuses = OutcomeOf(status) == PeerBreaker::Outcome::kAway && !IsHeldBack(status);
  if (!refuses || !muster::error::CauseOf(ended).empty()) return ended;
  const std::string said(ended.message());
  return muster::error::WithCause(std::move(ended), said);
}

// The requests of one service and where their answers go.
template <class Request, class Response, class T>
struct Call {
  grpc::ClientContext context = {};
  Request request = {};
  Response response = {};
  grpc::Status status = {};
  std::vector<PeerReply<T>*> slots = {};
  std::vector<PoolPass*> passes = {};
  bool sent = false;

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const PoolPass* pass : passes) names.push_back(pass->snapshot.pool->name);
    return names;
  }

  template <class Part>
  void Add(Part& place, Part asked, PoolPass& pass, PeerReply<T>& slot) {
    place = std::move(asked);
    slots.push_back(&slot);
    passes.push_back(&pass);
  }

  // Sends the call, unless nothing is asked or the service is known to be silent. `send(call,
  // done)` sends; `pending` counts until its end.
  template <class Send>
  void Begin(PeerBreaker* breaker, absl::Duration timeout, Latch& pending, const Send& send) {
    if (slots.empty()) return;
    if (breaker != nullptr && !breaker->MayAsk(Names())) {
      status = Silent();
      return;
    }
    sent = true;
    rpc::PrepareCall(context, timeout);
    pending.Begin();
    send(*this, [this, &pending](grpc::Status ended) {
      status = std::move(ended);
      if (status.ok() && response.results_size() != static_cast<int>(slots.size()))
        status = WrongNumber();
      pending.End();
    });
  }

  // `take(result)`: the answer in one result.
  template <class Take>
  void Distribute(Take take) {
    const absl::Status failed = rpc::FromGrpcStatus(status);
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
      slots[i]->state = PeerReply<T>::State::kHere;
      slots[i]->value = FactsOf(take(result));
    }
  }
};

// The calls by which the other services are told what should be.
struct Syncs {
  using QuotaCall =
      Call<qv1::BatchSyncHoldingsRequest, qv1::BatchSyncHoldingsResponse, HoldingFacts>;
  using CapacityCall = Call<cv1::BatchSyncClaimsRequest, cv1::BatchSyncClaimsResponse, ClaimFacts>;
  using ConfigurationCall = Call<fv1::BatchSyncPoolConfigurationsRequest,
                                 fv1::BatchSyncPoolConfigurationsResponse, ConfigurationFacts>;
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
  using QuotaCall = Call<qv1::CheckQuotaRequest, qv1::CheckQuotaResponse, HoldingFacts>;
  using CapacityCall = Call<cv1::CheckClaimsRequest, cv1::CheckClaimsResponse, ClaimFacts>;
  using ConfigurationCall = Call<fv1::CheckPoolConfigurationsRequest,
                                 fv1::CheckPoolConfigurationsResponse, ConfigurationFacts>;
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

// Completes an answer by what is known; `known` is then of this answer. One that refers to
// something else is none: without machines it would say that the claim holds nothing. All is asked
// for next.
void Complete(const cv1::Claim& claim, KnownClaim& known, PeerReply<ClaimFacts>& slot) {
  if (!FillIn(claim, known, slot.value)) {
    known = {};
    return NoAnswer(slot, muster::error::Make(absl::StatusCode::kInternal,
                                              "It left out machines that are not known here.",
                                              {.reason = "INTERNAL"}));
  }
  known = {claim.machines_print(), {}};
}

// A `send(call, done)` that uses the stub and keeps it alive.
template <class Stub, class Method>
auto SendBy(std::shared_ptr<Stub> stub, Method method) {
  return [stub = std::move(stub), method](auto& call, auto done) {
    method(*stub, &call.context, &call.request, &call.response, done);
  };
}

// What is asked for a batch of pools: one call a service.
template <class Calls>
struct Batch {
  explicit Batch(absl::Span<PoolPass> passes) {
    for (PoolPass& pass : passes) {
      const Snapshot& snapshot = pass.snapshot;
      const Demand& demand = pass.demand;
      if (demand.holding)
        quota.Add(*quota.request.add_holdings(), RequestOf(*snapshot.pool, *demand.holding), pass,
                  pass.snapshot.answers.holding);
      if (demand.claim) {
        cv1::ClaimRequest asked = RequestOf(*snapshot.pool, *demand.claim);
        asked.set_known_machines(pass.known_claim.print);
        capacity.Add(*capacity.request.add_claims(), std::move(asked), pass,
                     pass.snapshot.answers.claim);
      }
      if (demand.configuration)
        configuration.Add(*configuration.request.add_configurations(),
                          RequestOf(*snapshot.pool, *snapshot.cluster, *demand.configuration), pass,
                          pass.snapshot.answers.configuration);
    }
  }

  bool IsRefused() const {
    return IsRefusedWhole(quota.status) || IsRefusedWhole(capacity.status) ||
           IsRefusedWhole(configuration.status);
  }

  // Gives every pool its answers, and their prints.
  void Distribute() {
    quota.Distribute([](const auto& result) { return result.answer(); });
    capacity.Distribute([](const auto& result) { return result.claim(); });
    configuration.Distribute([](const auto& result) { return result.configuration(); });
    for (size_t i = 0; i < capacity.slots.size(); ++i) {
      if (!capacity.slots[i]->here()) continue;
      const cv1::Claim& claim = capacity.response.results(static_cast<int>(i)).claim();
      PoolPass& pass = *capacity.passes[i];
      Complete(claim, pass.known_claim, *capacity.slots[i]);
      if (capacity.slots[i]->here()) pass.claim_print = PrintOf(claim);
    }
    for (size_t i = 0; i < configuration.slots.size(); ++i) {
      if (!configuration.slots[i]->here()) continue;
      configuration.passes[i]->configuration_print =
          PrintOf(configuration.response.results(static_cast<int>(i)).configuration());
    }
  }

  typename Calls::QuotaCall quota = {};
  typename Calls::CapacityCall capacity = {};
  typename Calls::ConfigurationCall configuration = {};
};

// The request of a call with its first pool only. Of quota it asks no growth: a quota that was
// restored to a past would grant it what others hold, and is to hear of these first
// (Reconciler::Restate).
template <class Request, class Response, class T>
Request ProbeOf(const Call<Request, Response, T>& call) {
  Request one;
  if constexpr (requires { one.add_holdings(); }) {
    const PoolPass& pass = *call.passes.front();
    const Snapshot& snapshot = pass.snapshot;
    const auto nodes = static_cast<int64_t>(snapshot.nodes.size());
    *one.add_holdings() =
        RequestOf(*snapshot.pool, Restated(*pass.demand.holding, *snapshot.pool, nodes));
  } else if constexpr (requires { one.add_claims(); }) {
    *one.add_claims() = call.request.claims(0);
  } else {
    *one.add_configurations() = call.request.configurations(0);
  }
  return one;
}

}  // namespace

// The breaker of a service, and its probe: the newest request that it did not answer, sent or not.
// An older one may ask for what its pool does not want any more, and a service that has heard
// nothing since would carry it out.
struct PeerClient::Guard {
  explicit Guard(std::shared_ptr<PeerBreaker> its) : breaker(std::move(its)) {}
  // A call holds its channel. The last who does must not be one of gRPC's threads: with the last
  // channel of the process go those threads, and whoever lets go of it waits for them.
  ~Guard() {
    if (const auto context = probing.lock()) context->TryCancel();
    under_way.Wait(absl::InfiniteDuration());
  }

  // `send(call, done)`: as `call` was sent, or would have been.
  template <class Call, class Send>
  void Ended(const Call& call, Send send) {
    const PeerBreaker::Outcome outcome = OutcomeOf(call.status);
    if (outcome != PeerBreaker::Outcome::kAnswered) {
      probe = [this, one = ProbeOf(call), send] {
        auto again = std::make_shared<Call>();
        again->request = one;
        rpc::PrepareCall(again->context, kProbeTimeout);
        probing = std::shared_ptr<grpc::ClientContext>(again, &again->context);
        under_way.Begin();
        send(*again, [this, again](const grpc::Status& status) mutable {
          breaker->ProbeEnded(OutcomeOf(status));
          again.reset();
          under_way.End();
        });
      };
    }
    if (call.sent) breaker->Ended(outcome, call.Names());
  }
  // Logs once for each outage: the loop asks over and over.
  void Log(const absl::Status& ended) {
    const bool silent = !muster::error::CauseOf(ended).empty();
    const absl::StatusCode code = silent ? ended.code() : absl::StatusCode::kOk;
    if (std::exchange(logged, code) != code) muster::error::LogSilence(breaker->peer(), ended);
  }

  const std::shared_ptr<PeerBreaker> breaker;
  std::function<void()> probe = {};
  std::weak_ptr<grpc::ClientContext> probing = {};  // the last probe's
  Latch under_way = {};
  absl::StatusCode logged = absl::StatusCode::kOk;
};

PeerClient::PeerClient(const Peers& peers, const SteadyClock* clock, PeerBreaker::OnBack on_back)
    : PeerClient(peers) {
  for (const char* peer : kPeerNames) {
    guards_.push_back(std::make_shared<Guard>(std::make_shared<PeerBreaker>(peer, clock, on_back)));
  }
}

void PeerClient::Probe() const {
  for (const auto& guard : guards_) {
    if (guard->breaker->BeginProbe()) guard->probe();
  }
}

void PeerClient::Forget() const {
  for (const auto& guard : guards_) {
    guard->breaker->Forget();
    guard->probe = {};
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

PeerClient::Heard PeerClient::Ask(absl::Span<PoolPass> passes, absl::Duration timeout) const {
  return AskBy<Syncs>(passes, timeout);
}

void PeerClient::Check(absl::Span<PoolPass> passes, absl::Duration timeout) const {
  (void)AskBy<Checks>(passes, timeout);
}

template <class Calls>
PeerClient::Heard PeerClient::AskBy(absl::Span<PoolPass> passes, absl::Duration timeout) const {
  Batch<Calls> batch(passes);
  Latch pending;
  // `step(call, peer, send)`.
  const auto each = [&](const auto& step) {
    step(batch.quota, size_t{0}, SendBy(quota_, Calls::kQuota));
    step(batch.capacity, size_t{1}, SendBy(capacity_, Calls::kCapacity));
    step(batch.configuration, size_t{2}, SendBy(configuration_, Calls::kConfiguration));
  };
  // The deadline lets every call end, so that the wait does.
  each([&](auto& call, size_t peer, const auto& send) {
    PeerBreaker* const breaker = guards_.empty() ? nullptr : guards_[peer]->breaker.get();
    call.Begin(breaker, timeout, pending, send);
  });
  pending.Wait(absl::InfiniteDuration());
  if (!guards_.empty()) {
    each(
        [&](const auto& call, size_t peer, const auto& send) { guards_[peer]->Ended(call, send); });
  }
  if (passes.size() > 1 && batch.IsRefused()) {
    // One pool spoils the whole batch: it must not hold up the others, so each half is asked by
    // itself. Asking twice does no harm.
    const size_t half = passes.size() / 2;
    const Heard first = AskBy<Calls>(passes.subspan(0, half), timeout);
    return std::max(first, AskBy<Calls>(passes.subspan(half), timeout));
  }
  each([&](const auto& call, size_t peer, const auto&) {
    if (!call.sent) return;
    const absl::Status ended = EndOf(call.status);
    if (guards_.empty()) return silence_->Note(kPeerNames[peer], ended);
    guards_[peer]->Log(ended);
  });
  batch.Distribute();
  return HeardBy(batch.quota.status);  // OK: nothing was asked
}

void AddDemand(PoolPass& pass, const CatalogueMirror& catalogue) {
  Snapshot& snapshot = pass.snapshot;
  snapshot.catalogue = catalogue.Facts(snapshot.pool->spec.instance_type, snapshot.pool->zone);
  pass.demand = DemandOf(*snapshot.pool, snapshot.nodes, snapshot.catalogue);
}

}  // namespace muster::lifecycle
