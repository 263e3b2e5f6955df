// What a pass asks the other services: services/lifecycle/peers/peer_client.cc without messages.
#include <utility>

#include "absl/strings/numbers.h"
#include "services/common/error.h"
#include "services/common/generation.h"
#include "tests/simulation/replica.h"

namespace muster::simulation {
namespace {

using Holdings = std::vector<absl::StatusOr<quota::HoldingOutcome>>;
using Claims = std::vector<absl::StatusOr<capacity::ClaimView>>;
using Configurations = std::vector<absl::StatusOr<configuration::PoolConfiguration>>;

// --- the calls that tell what should be, and those that only ask ---

Holdings Sync(Cloud& cloud, const std::vector<quota::SyncHolding>& asked) {
  Holdings answers;
  for (const auto& request : asked) answers.push_back(cloud.quota.Run(request, cloud.now));
  return answers;
}
Holdings Check(Cloud& cloud, const std::vector<quota::SyncHolding>& asked) {
  return cloud.quota.Ask([&](const auto& staged) {
    return quota::Check(staged.state(), asked, cloud.quota.TimeAt(cloud.now), staged.revision());
  });
}

Claims Sync(Cloud& cloud, const std::vector<capacity::SyncClaim>& asked) {
  return cloud.capacity.Run(capacity::SyncClaims{asked}, cloud.now);
}
Claims Check(Cloud& cloud, const std::vector<capacity::SyncClaim>& asked) {
  return cloud.capacity.Ask([&](auto& staged) {
    return capacity::Check(staged, {asked}, cloud.capacity.TimeAt(cloud.now));
  });
}

Configurations Sync(Cloud& cloud, const std::vector<configuration::SyncPool>& asked) {
  return *cloud.configuration.Run(configuration::SyncPools{asked}, cloud.now);
}
Configurations Check(Cloud& cloud, const std::vector<configuration::SyncPool>& asked) {
  return cloud.configuration.Ask([&](auto& staged) {
    return configuration::Check(staged, {asked}, cloud.configuration.TimeAt(cloud.now), {});
  });
}

// --- what is seen of them ---

std::string TextOf(const quota::SyncHolding& request,
                   const absl::StatusOr<quota::HoldingOutcome>& answer) {
  return absl::StrCat("quota: ", request.pool_uid, " g", request.generation, " asks ",
                      request.nodes, request.release ? " release" : "", " -> ",
                      answer.ok() ? absl::StrCat(answer->nodes) : answer.status().ToString());
}
std::string TextOf(const capacity::SyncClaim& request,
                   const absl::StatusOr<capacity::ClaimView>& view) {
  return absl::StrCat(
      "capacity: ", request.pool_uid, " g", request.generation, " asks ", request.nodes,
      " returns ", request.returns.size(), request.release ? " release" : "", " -> ",
      view.ok() ? absl::StrCat(view->machines.size(), " held") : view.status().ToString());
}
std::string TextOf(const configuration::SyncPool& request,
                   const absl::StatusOr<configuration::PoolConfiguration>& answer) {
  return absl::StrCat("configuration: ", request.pool_uid, " g", request.generation,
                      request.release ? " release" : "", " -> ", answer.status().ToString());
}

// Whether a correct request for the pool would never be refused so.
bool IsMistake(const absl::Status& status, const Replica::Surroundings& around,
               const std::string& pool_uid) {
  const auto detail = error::DetailOf(status);
  if (!detail) return true;
  if (detail->reason == "POOL_RELEASED") {
    // A replica that looked long ago may still ask. A released pool comes back only when lifecycle
    // is restored; it then stays refused until its owner deletes it.
    const lifecycle::Pool* pool = around.cloud.lifecycle.state().FindPoolByUid(pool_uid);
    return pool != nullptr && !pool->deleting() && around.cloud.lifecycle.incarnation() == 1;
  }
  // Capacity may hold what was granted in a future that was lost.
  if (detail->reason == "CLAIM_HOLDS_MACHINES") return !around.checker.amnesty().Owes(pool_uid);
  // It may be, until the leader of the new history has raised the generations.
  if (detail->reason == "GENERATION_REUSED")
    return !around.checker.amnesty().OwesLifecycle(pool_uid);
  return detail->reason != "GENERATION_TOO_OLD";
}

template <class T>
void NoAnswer(lifecycle::PeerReply<T>& slot, absl::string_view why) {
  slot.state = lifecycle::PeerReply<T>::State::kAway;
  slot.error = std::string(why);
}

template <class T>
void Refused(lifecycle::PeerReply<T>& slot, const absl::Status& status, Bug bug) {
  NoAnswer(slot, status.ToString());
  const auto detail = error::DetailOf(status);
  if (!detail || !(absl::IsAborted(status) || absl::IsFailedPrecondition(status))) return;
  slot.state = lifecycle::PeerReply<T>::State::kRefused;
  slot.reason = detail->reason;
  const auto last = detail->metadata.find("last_generation");
  if (last != detail->metadata.end() && bug != Bug::kRebaseMissing)
    (void)absl::SimpleAtoi(last->second, &slot.last_generation);
}

std::vector<capacity::SyncClaim> WithoutReturns(std::vector<capacity::SyncClaim> claims) {
  for (capacity::SyncClaim& claim : claims) claim.returns.clear();
  return claims;
}

}  // namespace

template <class Request, class T>
void Replica::Send(bool away, std::vector<Request> requests,
                   std::vector<lifecycle::PeerReply<T>*> slots) {
  if (requests.empty()) return;
  if (previews_ && around_.bug != Bug::kExplanationWrites) {
    for (Request& request : requests) request.generation = kNewestGeneration;
  }
  const bool only_ask = advises() && around_.bug != Bug::kExplanationWrites;
  const auto call = [&cloud = around_.cloud, &checker = around_.checker, requests, only_ask,
                     advises = advises()] {
    const int64_t before = cloud.revisions();
    auto answers = only_ask ? Check(cloud, requests) : Sync(cloud, requests);
    if (advises && cloud.revisions() != before) checker.Fail("a question changed something");
    for (size_t i = 0; i < requests.size() && cloud.trace.on; ++i)
      cloud.trace(cloud.now, TextOf(requests[i], answers[i]));
    return answers;
  };
  using Fate = Network::Fate;
  const Fate fate = around_.network.Send(away, [call] { (void)call(); });
  if (fate == Fate::kLost || fate == Fate::kLate) {
    for (lifecycle::PeerReply<T>* slot : slots) NoAnswer(*slot, "no answer");
    return;
  }
  auto answers = call();
  for (size_t i = 0; i < slots.size(); ++i) {
    const absl::Status& status = answers[i].status();
    if (!status.ok() && IsMistake(status, around_, requests[i].pool_uid))
      around_.checker.Fail(absl::StrCat("another service refuses: ", status.ToString()));
    if (fate == Fate::kAnswerLost) {
      NoAnswer(*slots[i], "no answer");
    } else if (!status.ok()) {
      Refused(*slots[i], status, around_.bug);
    } else {
      slots[i]->state = lifecycle::PeerReply<T>::State::kHere;
      slots[i]->value = FactsOf(*answers[i]);
    }
  }
}

int64_t Replica::GenerationOf(const PoolView& view, int64_t asked) const {
  if (around_.bug != Bug::kNewestGeneration) return asked;
  const auto& pools = around_.cloud.lifecycle.state().table<lifecycle::Pool>();
  const lifecycle::Pool* pool = pools.Find(view.pool->name);
  return pool == nullptr ? asked : std::max(asked, pool->account.generation);
}

void Replica::AskQuota() {
  std::vector<quota::SyncHolding> requests;
  std::vector<lifecycle::PeerReply<lifecycle::HoldingFacts>*> slots;
  for (PoolView& view : views_) {
    if (!view.demand.holding) continue;
    requests.push_back(RequestOf(view, *view.demand.holding));
    requests.back().generation = GenerationOf(view, requests.back().generation);
    slots.push_back(&view.answers.holding);
  }
  Send(around_.network.quota_away, requests, slots);
  if (around_.bug != Bug::kQuotaNotHeeded) return;
  for (PoolView& view : views_) {
    if (!view.answers.holding.here()) continue;
    view.answers.holding.value = {lifecycle::HoldingFacts::Verdict::kUnder,
                                  view.demand.holding->nodes};
  }
}

void Replica::AskCapacity() {
  std::vector<capacity::SyncClaim> requests;
  std::vector<lifecycle::PeerReply<lifecycle::ClaimFacts>*> slots;
  for (PoolView& view : views_) {
    if (!view.demand.claim) continue;
    if (!advises()) around_.checker.Asked(view.pool->uid, view.incarnation, *view.demand.claim);
    requests.push_back(RequestOf(view, *view.demand.claim));
    requests.back().generation = GenerationOf(view, requests.back().generation);
    slots.push_back(&view.answers.claim);
  }
  if (around_.bug == Bug::kReturnsForgotten) requests = WithoutReturns(std::move(requests));
  Send(around_.network.capacity_away, requests, slots);
  if (around_.bug != Bug::kSilenceIsEmpty) return;
  for (auto* slot : slots) {
    if (slot->away()) *slot = {lifecycle::PeerReply<lifecycle::ClaimFacts>::State::kHere};
  }
}

void Replica::AskConfiguration() {
  std::vector<configuration::SyncPool> requests;
  std::vector<lifecycle::PeerReply<lifecycle::ConfigurationFacts>*> slots;
  for (PoolView& view : views_) {
    if (!view.demand.configuration) continue;
    requests.push_back(RequestOf(view, *view.demand.configuration));
    slots.push_back(&view.answers.configuration);
  }
  Send(around_.network.configuration_away, requests, slots);
}

}  // namespace muster::simulation
