#include "services/lifecycle/reconcile/reconciler.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "services/common/cause.h"
#include "services/common/current_caller.h"
#include "services/common/error.h"
#include "services/common/error_reasons.h"
#include "services/common/latch.h"
#include "services/common/log.h"
#include "services/common/pieces.h"
#include "services/common/steady_clock.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/explain.h"
#include "services/lifecycle/core/lease.h"
#include "services/lifecycle/core/names.h"
#include "services/trace/span.h"
#include "storage/postgres/commit_traces.h"

namespace muster::lifecycle {
namespace {

// How often the loop looks at the clock when nothing wakes it.
constexpr absl::Duration kWorkerTick = absl::Milliseconds(200);
// How often it looks whether it leads.
constexpr absl::Duration kLeadPoll = absl::Milliseconds(50);
// How long the loop of who came to lead waits for a snapshot of the catalogue.
constexpr absl::Duration kCatalogueGrace = absl::Seconds(5);
// The longest wait for a batch of plans to be committed.
constexpr absl::Duration kCommitTimeout = absl::Seconds(15);

// Pools a pass; the services take at most 1,000.
constexpr size_t kBatch = 200;

// At so many pools quota may fail, and the others go on.
constexpr int kMostFails = 10;

absl::Duration SteadyNow() { return TheSteadyClock()->Now(); }

bool HasReason(const absl::Status& status, absl::string_view reason) {
  return muster::error::ReasonOf(status) == reason;
}

// nullopt: quota is not asked for the pool, the pool is being released, or was never charged.
std::optional<HoldingAsk> Restatement(const PoolPass& pass) {
  const Pool& pool = *pass.snapshot.pool;
  const auto nodes = static_cast<int64_t>(pass.snapshot.nodes.size());
  const bool asks = pass.demand.holding && !pass.demand.holding->release;
  if (!asks || ChargedBefore(pool, nodes) == 0 || pool.account.generation < 2) return std::nullopt;
  return Restated(*pass.demand.holding, pool, nodes);
}

void AddAll(const Lane& lane, DelayQueue& due) {
  lane.Peek([&](const State& state, int64_t) { AddAll(state, due); });
}

// Whether the change of a Node's row can matter to its pool.
bool Matters(const State::Change& change, SettledPools& settled) {
  const auto& row = std::get<std::shared_ptr<const Node>>(change.row);
  return row == nullptr || !settled.Absorbs(row);
}

// Makes the pools due to which changes of the rows can matter; no changes: the state was loaded
// anew.
void AddChanged(const Lane& lane, absl::Span<const Revised<State::Change>> changes,
                SettledPools& settled, PoolPace& pace, DelayQueue& due) {
  if (changes.empty()) {
    settled.Clear();
    pace.Clear();
    return AddAll(lane, due);
  }
  for (const Revised<State::Change>& change : changes) {
    const absl::string_view kind = change.change.kind();
    const TraceContext cause = storage::CommitTraces::Of(change.revision);
    if (kind == Pool::kKind) {
      const auto& row = std::get<std::shared_ptr<const Pool>>(change.change.row);
      if (row != nullptr) due.AddIn(row->name, pace.RestAfter(*row), cause);
    } else if (kind == Node::kKind) {
      const absl::string_view pool = PoolNameOf(change.change.key);
      if (Matters(change.change, settled)) due.AddIn(pool, pace.RestOf(pool), cause);
    } else if (kind == Cluster::kKind) {
      lane.Peek([&](const State& state, int64_t) {
        state.ForEachPoolOf(change.change.key, [&](const Pool& pool) {
          due.Add(pool.name, cause);
          return true;
        });
      });
    }
  }
}

}  // namespace

Reconciler::Reconciler(LoopOptions options, Lane* lane, const storage::ConnectOptions& heartbeat)
    : options_(std::move(options)),
      lane_(*lane),
      due_(std::make_shared<DelayQueue>()),
      settled_(std::make_shared<SettledPools>()),
      pace_(std::make_shared<PoolPace>()),
      metrics_(std::make_shared<ReconcileMetrics>(due_.get(), options_.policy.boot_deadline)),
      lease_(std::make_shared<LeaseHolder>(
          LeaseHolder::Options{lane, heartbeat, options_.lease_ttl,
                               [this](bool leads) { LeadChanged(leads); }, options_.most_raised})) {
  lane_.Subscribe([lane, settled = settled_, pace = pace_,
                   due = due_](absl::Span<const Revised<State::Change>> changes) {
    AddChanged(*lane, changes, *settled, *pace, *due);
  });
}

Reconciler::~Reconciler() {
  Stop();
  metrics_->Detach();
}

void Reconciler::Start(const Peers& peers, std::shared_ptr<const CatalogueMirror> catalogue) {
  peer_client_ = std::make_unique<PeerClient>(peers, TheSteadyClock(),
                                              [due = due_](const std::set<std::string>& pools) {
                                                for (const std::string& pool : pools)
                                                  due->Add(pool);
                                              });
  metrics_->SetBreakers(peer_client_->breakers());
  catalogue_ = std::move(catalogue);
  watches_ = std::make_shared<PeerWatches>(peers, &lane_, due_.get(), [this] { restates_ = true; });
  watches_->Start();
  lease_->Start();
  thread_ = std::thread([this] { Loop(); });
}

void Reconciler::Stop() {
  if (stopper_.stopped()) return;
  stopper_.Stop();
  due_->Wake();
  lease_->Stop();
  if (thread_.joinable()) thread_.join();
  if (watches_ != nullptr) watches_->Stop();
}

void Reconciler::Loop() {
  absl::Duration lead_began = SteadyNow();
  while (!stopper_.stopped()) {
    const bool leads = epoch() != 0;
    // One that was lost and taken anew while a pass lasted is a new one.
    if (lead_lost_.exchange(false) || !leads) {
      lead_began = SteadyNow();
      ForgetLead();
    }
    // At the start, and after an outage of the database that ended lead and watches, the catalogue
    // comes in a moment: no pool need be told that it is out of reach.
    const bool early =
        SteadyNow() - lead_began < kCatalogueGrace && !catalogue_->Facts("", "").known;
    if (!leads || early) {
      // While the catalogue is waited for, pools that become due stay due.
      stopper_.Sleep(kLeadPoll);
      continue;
    }
    peer_client_->Probe();
    const bool any_due = due_->UntilNext() <= absl::ZeroDuration();
    if (restates_.exchange(false)) restate_schedule_.Ask();
    if (restate_schedule_.IsDue(SteadyNow(), any_due)) Restate();
    if (!any_due) {
      due_->Wait(kWorkerTick);
      continue;
    }
    trace::Causes causes;
    const std::vector<std::string> names = due_->Take(kBatch, &causes);
    const absl::Duration start = SteadyNow();
    trace::Work work("lifecycle reconcile pass", std::move(causes));
    work.Add("muster.node_pools", static_cast<int64_t>(names.size()));
    Pass(names);
    metrics_->PassDone(SteadyNow() - start);
  }
}

void Reconciler::Restate() {
  std::vector<std::string> names;
  lane_.Peek([&](const State& state, int64_t) {
    for (const auto& [name, pool] : state.table<Pool>().rows()) names.push_back(pool.row->name);
  });
  int fails = 0;
  for (size_t at = 0; at < names.size() && !stopper_.stopped(); at += kBatch) {
    const auto begin = names.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(kBatch, names.size() - at));
    std::vector<PoolPass> passes = BeginPasses({begin, end});
    for (PoolPass& pass : passes) {
      pass.demand.holding = Restatement(pass);
      pass.demand.claim.reset();
      pass.demand.configuration.reset();
    }
    // To be begun anew later.
    if (!RestateSome(absl::MakeSpan(passes), fails)) return restate_schedule_.Failed(SteadyNow());
    if (epoch() == 0) {
      restates_ = true;
      return;
    }
  }
  if (stopper_.stopped()) return;
  restate_schedule_.Done();
  for (const std::string& pool : std::exchange(held_back_, {})) due_->Add(pool);
}

bool Reconciler::RestateSome(absl::Span<PoolPass> passes, int& fails) {
  using Heard = PeerClient::Heard;
  const Heard heard = peer_client_->Ask(passes, options_.ask_timeout);
  if (heard != Heard::kFailed) return heard == Heard::kAnswered;
  // It fails at one pool at least, which must not hold up the others.
  if (const size_t half = passes.size() / 2; half > 0)
    return RestateSome(passes.subspan(0, half), fails) && RestateSome(passes.subspan(half), fails);
  log::Warn("quota fails at what a pool is charged for; the others go on",
            {{"pool", passes[0].snapshot.pool->name}});
  return ++fails <= kMostFails;
}

void Reconciler::HoldBack(absl::Span<PoolPass> passes) {
  if (restate_schedule_.IsDone() && !restates_) return;
  for (PoolPass& pass : passes) {
    std::optional<HoldingAsk>& ask = pass.demand.holding;
    const auto nodes = static_cast<int64_t>(pass.snapshot.nodes.size());
    if (!ask || !AsksForMore(*ask, *pass.snapshot.pool, nodes)) continue;
    ask.reset();
    pass.snapshot.answers.holding = {.state = PeerReply<HoldingFacts>::State::kAway,
                                     .error = "It has not heard yet of all that is charged for."};
    if (held_back_.empty()) log::Info("no pool grows until quota has heard of all", {});
    held_back_.insert(pass.snapshot.pool->name);
  }
}

std::vector<PoolPass> Reconciler::BeginPasses(const std::vector<std::string>& names) const {
  std::vector<PoolPass> passes;
  lane_.PeekAt([&](const State& state, const auto& at) {
    // The lead is over, and this replica does not know it yet. A takeover makes all pools due.
    if (!IsTakenIn(state, at.incarnation)) return;
    for (const std::string& name : names) {
      auto snapshot = SnapshotOf(state, name);
      if (snapshot) passes.push_back({*std::move(snapshot), at.incarnation});
    }
  });
  const absl::Time now = lane_.clock().Now();
  for (PoolPass& pass : passes) {
    pass.snapshot.now = now;  // of what is asked; the plan has a later one
    AddDemand(pass, *catalogue_);
  }
  return passes;
}

void Reconciler::AskServices(std::vector<PoolPass>& passes) {
  HoldBack(absl::MakeSpan(passes));
  known_claims_.Lend(absl::MakeSpan(passes));
  watches_->Asking(passes);
  peer_client_->Ask(absl::MakeSpan(passes), options_.ask_timeout);
  watches_->Answered(passes);
}

void Reconciler::Pass(const std::vector<std::string>& names) {
  settled_->Forget(names);
  pace_->Begin(names);
  std::vector<PoolPass> passes = BeginPasses(names);
  if (passes.empty()) return;
  AskServices(passes);
  lane_.Peek([&](const State& state, int64_t) {
    for (PoolPass& pass : passes) AddTaken(state, pass.snapshot);
    known_claims_.ForgetGone(
        [&](const std::string& uid) { return state.FindPoolByUid(uid) != nullptr; });
  });
  const absl::Time now = lane_.clock().Now();
  std::vector<PoolPlan> plans;
  plans.reserve(passes.size());
  for (PoolPass& pass : passes) {
    const Pool& pool = *pass.snapshot.pool;
    pass.snapshot.policy = options_.policy;
    pass.snapshot.now = now;
    pass.snapshot.obtainable = watches_->Obtainable(pool);
    std::vector<const Node*> only_counted;
    plans.push_back(Plan(pass.snapshot, &only_counted));
    const PoolPlan& plan = plans.back();
    pace_->Looked(pass.snapshot, plan);
    if (plan.actions.empty())
      settled_->Settle(pool.name, std::move(pass.snapshot.node_rows), only_counted);
    metrics_->PlanMade(plan.actions.empty());
    TellRaised(pool, plan);
    for (const Defer& defer : plan.defers) {
      log::Debug("deferred", {{"subject", defer.subject},
                              {"reason", DeferReasonName(defer.reason)},
                              {"message", defer.message}});
    }
    due_->AddIn(pool.name, std::min(plan.due - now, Spread(pool.name)));
  }
  SubmitPlans(passes, plans);
  known_claims_.TakeBack(absl::MakeSpan(passes));
}

void Reconciler::TellRaised(const Pool& pool, const PoolPlan& plan) const {
  for (const Action& action : plan.actions) {
    const auto* raise = std::get_if<RaiseGeneration>(&action);
    if (raise == nullptr) continue;
    metrics_->GenerationRaised();
    log::Warn("a service knows later requests than the pool: it goes on above them",
              {{"pool", pool.name},
               {"generation", pool.account.generation},
               {"raised_to", raise->account},
               {"pool_raised_to", raise->pool}});
  }
}

void Reconciler::SubmitPlans(const std::vector<PoolPass>& passes, std::vector<PoolPlan>& plans) {
  const CurrentCaller first = CurrentCaller::AheadOfCallers();
  const int64_t epoch = lease_->epoch();
  const auto commits = std::make_shared<Latch>();
  // A callback may come after the wait is over: it holds all that it touches.
  for (size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].actions.empty()) continue;
    const Pool& pool = *passes[i].snapshot.pool;
    ApplyPlan command{pool.name,        pool.uid, passes[i].snapshot.version,
                      lease_->holder(), epoch,    std::move(plans[i].actions)};
    commits->Begin();
    lane_.Submit(
        [command = std::move(command)](StagedState<State>& staged, absl::Time now) {
          return Decide(staged, command, now).status();
        },
        [commits, due = due_, metrics = metrics_, lease = lease_, epoch, since = SteadyNow(),
         retry = options_.policy.retry, name = pool.name](const absl::Status& status, int64_t) {
          lease->PlanEnded(status, since);
          if (!status.ok()) {
            if (HasReason(status, muster::error::kStaleLeader)) lease->Refused(epoch);
            metrics->PlanRefused();
            // Neither is worth a warning: what outdated the plan has made its pool due again.
            if (!HasReason(status, muster::error::kPlanOutdated) &&
                !HasReason(status, muster::error::kStaleLeader)) {
              log::Warn("a plan was not carried out",
                        {{"pool", name}, {"error", muster::error::ForOperators(status)}});
            }
            due->AddIn(name, retry);
          }
          commits->End();
        },
        absl::InfiniteFuture(), passes[i].incarnation);
  }
  commits->Wait(kCommitTimeout);
}

void Reconciler::LeadChanged(bool leads) {
  metrics_->SetLeading(leads);
  if (!leads) {
    lead_lost_ = true;
    return;
  }
  restates_ = true;
  MakeAllDue();
}

void Reconciler::CatalogueChanged(const CatalogueMirror::Concerns& concerns) {
  ForAllInPieces<Pool>(lane_, [&](const State&, absl::string_view name, const Pool& pool) {
    if (concerns(pool.spec.instance_type, pool.zone)) due_->Add(name);
  });
  due_->Wake();
}

void Reconciler::ForgetLead() {
  peer_client_->Forget();
  known_claims_.Clear();
  held_back_.clear();
  restate_schedule_.Done();
  restates_ = true;
  settled_->Clear();
  pace_->Clear();
  due_->Clear();
  // If it leads by now, Clear may have removed what was made due by that.
  if (epoch() != 0) MakeAllDue();
}

void Reconciler::MakeAllDue() {
  AddAll(lane_, *due_);
  due_->Wake();
}

absl::Duration Reconciler::Spread(absl::string_view pool) const {
  // Between 75 % and 100 % of the interval, always the same for a pool.
  const auto share = static_cast<double>(absl::Hash<absl::string_view>()(pool) % 1000) / 1000;
  return options_.resync_interval * (0.75 + 0.25 * share);
}

}  // namespace muster::lifecycle
