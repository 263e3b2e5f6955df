#include "tests/simulation/replica.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "services/common/error.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/explain.h"
#include "services/lifecycle/core/node_machine.h"

namespace muster::simulation {
namespace {

bool IsStale(const absl::Status& status) { return error::ReasonOf(status) == "STALE_LEADER"; }

bool IsRace(const absl::Status& status) {
  return IsStale(status) || error::ReasonOf(status) == "PLAN_OUTDATED";
}

bool Raises(const lifecycle::ApplyPlan& command) {
  return std::any_of(command.actions.begin(), command.actions.end(),
                     [](const lifecycle::Action& action) {
                       return std::holds_alternative<lifecycle::RaiseGeneration>(action);
                     });
}

// What is asked for a preview is newer than all that was asked.
constexpr int64_t kNewer = 1'000'000;

}  // namespace

void Replica::Begin(const std::vector<std::string>& pools) {
  const Cloud& cloud = around_.cloud;
  if (!advises()) settled->Forget(pools);
  // The lane caught up with what it looks at.
  clock_->Take(cloud.lifecycle.HeadAt(cloud.now));
  views_.clear();
  for (const std::string& name : pools) {
    if (cloud.lifecycle.state().table<lifecycle::Pool>().Find(name) == nullptr) continue;
    PoolView view = Look(cloud.lifecycle.state(), name);
    view.incarnation = cloud.lifecycle.incarnation();
    if (around_.network.catalogue_known)
      view.catalogue = FactsFor(*view.pool, cloud.capacity.state());
    view.demand = DemandOf(*view.pool, view.nodes, view.catalogue);
    cloud.trace(cloud.now, name_, ": looks at ", name, " version ", view.version, " generation ",
                view.pool->account.generation);
    views_.push_back(std::move(view));
  }
  previews_ = false;
  asks_ = {&Replica::AskQuota, &Replica::AskCapacity, &Replica::AskConfiguration};
  stage_ = views_.empty() ? Stage::kIdle : Stage::kAsking;
}

void Replica::Preview(const lifecycle::Pool& after) {
  Begin({after.name});
  previews_ = true;
  for (PoolView& view : views_) {
    auto pool = std::make_shared<lifecycle::Pool>(after);
    pool->account.generation += kNewer;
    pool->generation += kNewer;
    view.pool = std::move(pool);
    view.demand = DemandOf(*view.pool, view.nodes, view.catalogue);
  }
}

void Replica::Step() {
  switch (stage_) {
    case Stage::kIdle:
      return;
    case Stage::kAsking: {
      const auto next = asks_.begin() + around_.random.Uniform(static_cast<int>(asks_.size()));
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
  commits_.clear();
  BeginLife();
}

// --- the lease ---

void Replica::BeginLife() {
  Cloud& cloud = around_.cloud;
  agenda = std::make_unique<Agenda>(cloud.steady, around_.checker, around_.bug);
  settled = std::make_unique<lifecycle::SettledPools>();
  clock_ = std::make_shared<storage::LaneClock>(nullptr, &cloud.steady);
  hanging_ = std::make_shared<std::vector<Network::Message>>();
  lease_ = std::make_shared<LeaseThread>(
      absl::StrCat(name_, "#", ++lives_), clock_,
      LeaseThread::Surroundings{cloud, around_.random, around_.weather, around_.checker,
                                around_.bug, [hanging = hanging_](Network::Message message) {
                                  hanging->push_back(std::move(message));
                                }});
}

void Replica::Beat() {
  if (trouble_ != Trouble::kNone && around_.cloud.steady.Now() >= trouble_until_) Recover();
  if (trouble_ == Trouble::kFrozen) return;
  const int64_t before = epoch();
  lease_->Beat(trouble_);
  if (epoch() == 0 || epoch() == before) return;
  for (const auto& [name, pool] : around_.cloud.lifecycle.state().table<lifecycle::Pool>().rows())
    agenda->Add(pool.row->name, absl::ZeroDuration());
}

LeadChecker::Standing Replica::standing() const {
  const auto* lease =
      around_.cloud.lifecycle.state().table<lifecycle::Lease>().Find(lifecycle::Lease::kName);
  return {.holder = lease_->holder(),
          .leads = epoch() != 0 && lease != nullptr && lease->holder == lease_->holder() &&
                   lease->epoch == epoch(),
          .is_able = trouble_ == Trouble::kNone,
          .can_commit = trouble_ == Trouble::kNone || trouble_ == Trouble::kNoBeats ||
                        (trouble_ == Trouble::kNoChanges && !lease_->failing())};
}

void Replica::Restart() {
  lease_->Resign();
  Die();
}

void Replica::Suffer(Trouble trouble, absl::Duration time) {
  trouble_ = trouble;
  trouble_until_ = around_.cloud.steady.Now() + time;
  around_.cloud.trace(around_.cloud.now, name_, ": trouble ", static_cast<int>(trouble), " for ",
                      absl::FormatDuration(time));
}

void Replica::Recover() {
  trouble_ = Trouble::kNone;
  for (Network::Message& message : std::exchange(*hanging_, {}))
    around_.network.Delay(std::move(message));
}

void Replica::MakePlans() {
  commits_.clear();
  for (PoolView& view : views_) {
    auto& claim = view.answers.claim.value;
    claim.taken = around_.cloud.lifecycle.state().TakenElsewhere(view.pool->uid, claim.machines);
    lifecycle::Pool pool = *view.pool;
    absl::Time now = Now();
    if (around_.bug == Bug::kIdleOnlyForgotten)
      pool.spec.scale_down_strategy = lifecycle::ScaleDownStrategy::kPreferIdle;
    if (around_.bug == Bug::kBudgetForgotten) pool.spec.max_unavailable.clear();
    if (around_.bug == Bug::kClockFast) now += absl::Minutes(3);
    lifecycle::Policy policy = around_.policy;
    if (around_.bug == Bug::kGiveUpUnbounded) policy.give_up_percent = 100;
    const lifecycle::Snapshot snapshot{view.cluster.get(), &pool,        view.nodes, view.version,
                                       view.catalogue,     view.answers, policy,     now};
    std::vector<const lifecycle::Node*> only_counted;
    lifecycle::PoolPlan plan = Plan(snapshot, &only_counted);
    if (advises()) {
      Explain(snapshot, plan);
      continue;
    }
    if (around_.random.OneIn(50) && !(Plan(snapshot) == plan)) {
      around_.checker.Fail(absl::StrCat("two plans from one view of ", pool.name, " differ"));
    }
    const auto limit = [](const lifecycle::Defer& defer) {
      return defer.reason == lifecycle::DeferReason::kGiveUpLimit;
    };
    if (std::any_of(plan.defers.begin(), plan.defers.end(), limit))
      around_.checker.Notice("give-up: waits for the next interval");
    planned(pool.name, plan.due - now);
    if (plan.actions.empty()) {
      settled->Settle(pool.name, view.rows, only_counted);
    } else {
      commits_.push_back({CommandOf(view, plan), view.incarnation, now});
    }
  }
}

absl::Time Replica::Now() const {
  const Cloud& cloud = around_.cloud;
  if (around_.bug == Bug::kTimeStepsBack) return cloud.lifecycle.DatabaseTime(cloud.now);
  return clock_->Now();
}

void Replica::Explain(const lifecycle::Snapshot& snapshot, const lifecycle::PoolPlan& plan) {
  const auto obstacles = lifecycle::Explain(snapshot, plan);
  around_.cloud.trace(around_.cloud.now, name_, ": ", obstacles.size(), " obstacles for ",
                      snapshot.pool->name);
  if (explained) explained(obstacles);
  const absl::string_view reason =
      lifecycle::ReasonOf(snapshot.pool->status.conditions, "AtTarget");
  const bool met = reason.empty() || reason == "TargetMet";
  if (!met && obstacles.empty() && plan.actions.empty())
    around_.checker.Fail(
        absl::StrCat(snapshot.pool->name, " is ", reason, ", and nothing says why"));
}

lifecycle::ApplyPlan Replica::CommandOf(const PoolView& view, lifecycle::PoolPlan& plan) const {
  lifecycle::ApplyPlan command{view.pool->name,  view.pool->uid, view.version,
                               lease_->holder(), epoch(),        std::move(plan.actions)};
  if (around_.bug == Bug::kRebaseNotFenced && Raises(command)) {
    command.version = std::numeric_limits<int64_t>::max();
  }
  if (around_.bug == Bug::kNoVersionCheck) command.version = std::numeric_limits<int64_t>::max();
  if (around_.bug == Bug::kDisabledForgotten) {
    for (lifecycle::Action& action : command.actions) {
      auto* assign = std::get_if<lifecycle::AssignNode>(&action);
      if (assign != nullptr) assign->node_profile = view.answers.configuration.value.active;
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
  const Planned next = std::move(commits_.back());
  commits_.pop_back();
  if (trouble_ == Trouble::kNoCommits || trouble_ == Trouble::kNoChanges) {
    lease_->PlanEnded(absl::UnavailableError("no commit"), around_.cloud.steady.Now());
    return agenda->Add(next.command.pool, around_.policy.retry);
  }
  Send([&around = around_, next, lease = lease_, clock = clock_,
        since = around_.cloud.steady.Now()] { CarryOut(around, next, *lease, *clock, since); });
}

void Replica::CarryOut(const Surroundings& around, const Planned& planned, LeaseThread& lease,
                       storage::LaneClock& clock, absl::Duration since) {
  Cloud& cloud = around.cloud;
  const lifecycle::ApplyPlan& command = planned.command;
  // The lane does not decide what was made from another history.
  const bool same = planned.incarnation == cloud.lifecycle.incarnation();
  if (!same) around.checker.Notice("restore: met by a plan under way");
  if (!same && around.bug != Bug::kRestoreUnnoticed) return;
  const auto outcome = cloud.lifecycle.RunOn(clock, command, cloud.now);
  lease.PlanEnded(outcome.status(), since);
  cloud.trace(cloud.now, lease.holder(), ": plan of ", command.actions.size(), " actions for ",
              command.pool, " version ", command.version, " epoch ", command.epoch, " -> ",
              outcome.ok() ? "done" : outcome.status().ToString());
  for (const lifecycle::Action& action : command.actions) {
    const auto* step = std::get_if<lifecycle::StepNode>(&action);
    if (step == nullptr) continue;
    cloud.trace(cloud.now, "  ", step->node, " ", NodeEventName(step->event), ": ", step->reason);
  }
  if (outcome.ok()) return around.checker.CarriedOut(command, planned.time, lease.holder());
  if (!IsRace(outcome.status()))
    around.checker.Fail(absl::StrCat("a plan does not fit: ", outcome.status().ToString()));
  if (!IsStale(outcome.status())) return;
  lease.Refused(command.epoch);
  around.checker.Notice("lease: a plan of who does not lead is refused");
}

// The loop does not wait for ever, so a commit may come late, or be sent again; done once, it must
// not be done twice.
void Replica::Send(const Network::Message& commit) {
  if (trouble_ == Trouble::kCommitsHang) return hanging_->push_back(commit);
  if (around_.random.Percent(around_.weather.late_commit)) return around_.network.Delay(commit);
  commit();
  if (around_.random.Percent(around_.weather.repeated)) around_.network.Delay(commit);
}

}  // namespace muster::simulation
