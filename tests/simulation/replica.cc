#include "tests/simulation/replica.h"

#include <limits>
#include <optional>

#include "services/common/error.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/explain.h"
#include "services/lifecycle/core/node_machine.h"

namespace muster::simulation {
namespace {

bool IsRace(const absl::Status& status) {
  const auto detail = error::DetailOf(status);
  return detail && (detail->reason == "PLAN_OUTDATED" || detail->reason == "STALE_LEADER");
}

// Refusals that no request of a right plan for the pool meets.
bool IsMistake(const absl::Status& status, const lifecycle::State& state,
               const std::string& pool_uid) {
  const auto detail = error::DetailOf(status);
  if (detail && detail->reason == "POOL_RELEASED") {
    // One who looked long ago may ask.
    const lifecycle::Pool* pool = state.FindPoolByUid(pool_uid);
    return pool != nullptr && !pool->deleting();
  }
  return !detail || (detail->reason != "GENERATION_TOO_OLD" && detail->reason != "UNAVAILABLE");
}

// What is asked for a preview is newer than all that was asked.
constexpr int64_t kNewer = 1'000'000;

template <class T>
void NoAnswer(lifecycle::Answer<T>& slot, absl::string_view why) {
  slot.state = lifecycle::Answer<T>::State::kAway;
  slot.error = std::string(why);
}

std::vector<capacity::SyncClaim> WithoutReturns(std::vector<capacity::SyncClaim> claims) {
  for (capacity::SyncClaim& claim : claims) claim.returns.clear();
  return claims;
}

}  // namespace

void Replica::Begin(const std::vector<std::string>& pools) {
  const Cloud& cloud = around_.cloud;
  pictures_.clear();
  for (const std::string& name : pools) {
    if (cloud.lifecycle.state().table<lifecycle::Pool>().Find(name) == nullptr) continue;
    Picture picture = Look(cloud.lifecycle.state(), name);
    if (around_.network.catalogue_known)
      picture.catalogue = FactsFor(*picture.pool, cloud.capacity.state());
    picture.demand = DemandOf(*picture.pool, picture.nodes, picture.catalogue);
    cloud.trace(cloud.now, name_, ": looks at ", name, " version ", picture.version, " generation ",
                picture.pool->account.generation);
    pictures_.push_back(std::move(picture));
  }
  asks_ = {&Replica::AskQuota, &Replica::AskCapacity, &Replica::AskConfiguration};
  stage_ = pictures_.empty() ? Stage::kIdle : Stage::kAsking;
}

void Replica::Preview(const lifecycle::Pool& after) {
  Begin({after.name});
  for (Picture& picture : pictures_) {
    auto pool = std::make_shared<lifecycle::Pool>(after);
    pool->account.generation += kNewer;
    pool->generation += kNewer;
    picture.pool = std::move(pool);
    picture.demand = DemandOf(*picture.pool, picture.nodes, picture.catalogue);
  }
}

void Replica::Step() {
  switch (stage_) {
    case Stage::kIdle:
      return;
    case Stage::kAsking: {
      const auto next = asks_.begin() + around_.dice.Roll(static_cast<int>(asks_.size()));
      const Ask ask = *next;
      asks_.erase(next);
      (this->*ask)();
      if (asks_.empty()) stage_ = Stage::kPlanning;
      return;
    }
    case Stage::kPlanning:
      MakePlans();
      stage_ = commits_.empty() ? Stage::kIdle : Stage::kCommitting;
      return;
    case Stage::kCommitting:
      Commit();
      if (commits_.empty()) stage_ = Stage::kIdle;
      return;
  }
}

void Replica::Pass(const std::vector<std::string>& pools) {
  Begin(pools);
  while (busy()) Step();
}

void Replica::Die() {
  stage_ = Stage::kIdle;
  epoch = 0;
  commits_.clear();
}

template <class S, class Command>
auto Replica::Ordered(Service<S>& service, Judge& judge, const Command& command, absl::Time now,
                      bool ask_only, bool writes) {
  if (!ask_only) return service.Run(command, now);
  const int64_t revision = service.revision();
  auto answer = writes ? service.Run(command, now) : service.Ask(command, now);
  if (service.revision() != revision) judge.Fail("a question changed something");
  return answer;
}

template <class Request, class T, class Call>
void Replica::Send(bool away, std::vector<Request> requests,
                   std::vector<lifecycle::Answer<T>*> slots, Call call) {
  if (requests.empty()) return;
  using Fate = Network::Fate;
  const Fate fate = around_.network.Send(away, [call, requests] { (void)call(requests); });
  if (fate == Fate::kLost || fate == Fate::kLate) {
    for (lifecycle::Answer<T>* slot : slots) NoAnswer(*slot, "no answer");
    return;
  }
  auto answers = call(requests);
  for (size_t i = 0; i < slots.size(); ++i) {
    if (!answers[i].ok() &&
        IsMistake(answers[i].status(), around_.cloud.lifecycle.state(), requests[i].pool_uid)) {
      around_.judge.Fail(absl::StrCat("another service refuses: ", answers[i].status().ToString()));
    }
    if (fate == Fate::kAnswerLost || !answers[i].ok()) {
      NoAnswer(*slots[i], answers[i].ok() ? "no answer" : answers[i].status().ToString());
      continue;
    }
    slots[i]->state = lifecycle::Answer<T>::State::kHere;
    slots[i]->value = AnswerOf(*answers[i]);
  }
}

int64_t Replica::GenerationOf(const Picture& picture, int64_t asked) const {
  if (around_.bug != Bug::kNewestGeneration) return asked;
  const auto& pools = around_.cloud.lifecycle.state().table<lifecycle::Pool>();
  const lifecycle::Pool* pool = pools.Find(picture.pool->name);
  return pool == nullptr ? asked : std::max(asked, pool->account.generation);
}

void Replica::AskQuota() {
  std::vector<quota::SyncHolding> requests;
  std::vector<lifecycle::Answer<lifecycle::HoldingAnswer>*> slots;
  for (Picture& picture : pictures_) {
    if (!picture.demand.holding) continue;
    requests.push_back(RequestOf(picture, *picture.demand.holding));
    requests.back().generation = GenerationOf(picture, requests.back().generation);
    slots.push_back(&picture.answers.holding);
  }
  const auto call = [&cloud = around_.cloud, &judge = around_.judge, ask_only = advises(),
                     writes = around_.bug == Bug::kExplanationWrites](
                        const std::vector<quota::SyncHolding>& asked) {
    std::vector<absl::StatusOr<quota::Answer>> answers;
    for (const quota::SyncHolding& request : asked) {
      answers.push_back(Ordered(cloud.quota, judge, request, cloud.now, ask_only, writes));
      cloud.trace(cloud.now, "quota: ", request.pool_uid, " g", request.generation, " asks ",
                  request.nodes, request.release ? " release" : "", " -> ",
                  answers.back().ok() ? absl::StrCat(answers.back()->nodes)
                                      : answers.back().status().ToString());
    }
    return answers;
  };
  Send(around_.network.quota_away, requests, slots, call);
  if (around_.bug != Bug::kQuotaNotHeeded) return;
  for (Picture& picture : pictures_) {
    if (!picture.answers.holding.here()) continue;
    picture.answers.holding.value = {lifecycle::HoldingAnswer::Verdict::kUnder,
                                     picture.demand.holding->nodes};
  }
}

void Replica::AskCapacity() {
  std::vector<capacity::SyncClaim> requests;
  std::vector<lifecycle::Answer<lifecycle::ClaimAnswer>*> slots;
  for (Picture& picture : pictures_) {
    if (!picture.demand.claim) continue;
    if (!advises()) around_.judge.Asked(picture.pool->uid, *picture.demand.claim);
    requests.push_back(RequestOf(picture, *picture.demand.claim));
    requests.back().generation = GenerationOf(picture, requests.back().generation);
    slots.push_back(&picture.answers.claim);
  }
  if (around_.bug == Bug::kReturnsForgotten) requests = WithoutReturns(std::move(requests));
  const auto call = [&cloud = around_.cloud, &judge = around_.judge, ask_only = advises(),
                     writes = around_.bug == Bug::kExplanationWrites](
                        const std::vector<capacity::SyncClaim>& asked) {
    const auto views =
        Ordered(cloud.capacity, judge, capacity::SyncClaims{asked}, cloud.now, ask_only, writes);
    for (size_t i = 0; i < asked.size(); ++i) {
      cloud.trace(cloud.now, "capacity: ", asked[i].pool_uid, " g", asked[i].generation, " asks ",
                  asked[i].nodes, " returns ", asked[i].returns.size(),
                  asked[i].release ? " release" : "", " -> ",
                  views[i].ok() ? absl::StrCat(views[i]->machines.size(), " held")
                                : views[i].status().ToString());
    }
    return views;
  };
  Send(around_.network.capacity_away, requests, slots, call);
  if (around_.bug != Bug::kSilenceIsEmpty) return;
  for (auto* slot : slots) {
    if (slot->away()) *slot = {lifecycle::Answer<lifecycle::ClaimAnswer>::State::kHere};
  }
}

void Replica::AskConfiguration() {
  std::vector<configuration::SyncPool> requests;
  std::vector<lifecycle::Answer<lifecycle::ConfigurationAnswer>*> slots;
  for (Picture& picture : pictures_) {
    if (!picture.demand.configuration) continue;
    requests.push_back(RequestOf(picture, *picture.demand.configuration));
    slots.push_back(&picture.answers.configuration);
  }
  const auto call = [&cloud = around_.cloud, &judge = around_.judge, ask_only = advises(),
                     writes = around_.bug == Bug::kExplanationWrites](
                        const std::vector<configuration::SyncPool>& asked) {
    std::vector<absl::StatusOr<configuration::PoolConfiguration>> answers;
    for (const configuration::SyncPool& request : asked) {
      answers.push_back(Ordered(cloud.configuration, judge, request, cloud.now, ask_only, writes));
      cloud.trace(cloud.now, "configuration: ", request.pool_uid, " g", request.generation,
                  request.release ? " release" : "", " -> ", answers.back().status().ToString());
    }
    return answers;
  };
  Send(around_.network.configuration_away, requests, slots, call);
}

void Replica::MakePlans() {
  commits_.clear();
  for (const Picture& picture : pictures_) {
    lifecycle::Pool pool = *picture.pool;
    absl::Time now = around_.cloud.now;
    if (around_.bug == Bug::kIdleOnlyForgotten) pool.spec.scale_down_strategy = "PreferIdle";
    if (around_.bug == Bug::kBudgetForgotten) pool.spec.max_unavailable.clear();
    if (around_.bug == Bug::kClockFast) now += absl::Minutes(3);
    const lifecycle::Snapshot snapshot{
        picture.cluster.get(), &pool,           picture.nodes,  picture.version,
        picture.catalogue,     picture.answers, around_.policy, now};
    lifecycle::PoolPlan plan = Plan(snapshot);
    if (advises()) {
      Explain(snapshot, plan);
      continue;
    }
    if (around_.dice.OneIn(50) && !(Plan(snapshot) == plan)) {
      around_.judge.Fail(absl::StrCat("two plans from one picture of ", pool.name, " differ"));
    }
    planned(pool.name, plan.due);
    if (!plan.actions.empty()) commits_.push_back(CommandOf(picture, plan));
  }
}

void Replica::Explain(const lifecycle::Snapshot& snapshot, const lifecycle::PoolPlan& plan) {
  const auto obstacles = lifecycle::Explain(snapshot, plan);
  around_.cloud.trace(around_.cloud.now, name_, ": ", obstacles.size(), " obstacles for ",
                      snapshot.pool->name);
  const absl::string_view reason =
      lifecycle::ReasonOf(snapshot.pool->status.conditions, "AtTarget");
  const bool met = reason.empty() || reason == "TargetMet";
  if (!met && obstacles.empty() && plan.actions.empty())
    around_.judge.Fail(absl::StrCat(snapshot.pool->name, " is ", reason, ", and nothing says why"));
}

lifecycle::ApplyPlan Replica::CommandOf(const Picture& picture, lifecycle::PoolPlan& plan) const {
  lifecycle::ApplyPlan command{picture.pool->name, picture.pool->uid, picture.version, epoch,
                               std::move(plan.actions)};
  if (around_.bug == Bug::kNoVersionCheck) command.version = std::numeric_limits<int64_t>::max();
  if (around_.bug == Bug::kDisabledForgotten) {
    for (lifecycle::Action& action : command.actions) {
      auto* assign = std::get_if<lifecycle::AssignNode>(&action);
      if (assign != nullptr) assign->node_profile = picture.answers.configuration.value.active;
    }
  }
  if (around_.bug == Bug::kEventsTwice) {
    for (size_t i = command.actions.size(); i-- > 0;) {
      const lifecycle::Action action = command.actions[i];
      if (std::holds_alternative<lifecycle::EmitEvent>(action))
        command.actions.insert(command.actions.begin() + static_cast<std::ptrdiff_t>(i), action);
    }
  }
  return command;
}

void Replica::Commit() {
  lifecycle::ApplyPlan command = std::move(commits_.back());
  commits_.pop_back();
  const auto commit = [&cloud = around_.cloud, &judge = around_.judge, name = name_,
                       command = std::move(command)] {
    const auto outcome = cloud.lifecycle.Run(command, cloud.now);
    cloud.trace(cloud.now, name, ": plan of ", command.actions.size(), " actions for ",
                command.pool, " version ", command.version, " epoch ", command.epoch, " -> ",
                outcome.ok() ? "done" : outcome.status().ToString());
    for (const lifecycle::Action& action : command.actions) {
      const auto* step = std::get_if<lifecycle::StepNode>(&action);
      if (step == nullptr) continue;
      cloud.trace(cloud.now, "  ", step->node, " ", NodeEventName(step->event), ": ", step->reason);
    }
    if (outcome.ok()) {
      ++judge.plans;
    } else if (!IsRace(outcome.status())) {
      judge.Fail(absl::StrCat("a plan does not fit: ", outcome.status().ToString()));
    }
  };
  // The loop waits only so long for the lane. What was done once is not done again.
  if (around_.dice.Percent(around_.weather.late_commit)) {
    around_.network.Delay(commit);
  } else {
    commit();
    if (around_.dice.Percent(around_.weather.repeated)) around_.network.Delay(commit);
  }
}

}  // namespace muster::simulation
