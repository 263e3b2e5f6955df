#include "services/lifecycle/core/plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/planner.h"

namespace muster::lifecycle {
namespace {

std::string ActiveProfile(const Pool& pool, const Answer<ConfigurationAnswer>& configuration) {
  const bool fresh = configuration.here() && !configuration.value.active.empty();
  return fresh ? configuration.value.active : pool.status.node_profile;
}

bool IsProfileDisabled(const Pool& pool, const Answer<ConfigurationAnswer>& configuration,
                       absl::string_view profile) {
  const auto& revisions =
      configuration.here() ? configuration.value.revisions : pool.status.revisions;
  return std::any_of(revisions.begin(), revisions.end(), [&](const NodeConfiguration& revision) {
    return revision.node_profile == profile && revision.disabled;
  });
}

// A service that has released a pool which is being deleted has nothing of it any more: just what
// the pool waits for.
template <class T>
void TakeAsEmpty(Answer<T>& answer) {
  if (answer.released()) answer = {.state = Answer<T>::State::kHere};
}

}  // namespace

Planner::Planner(const Snapshot& snapshot)
    : snapshot_(snapshot),
      pool_(*snapshot.pool),
      demand_(DemandOf(pool_, snapshot.nodes, snapshot.catalogue)),
      judgement_(Judge(pool_, snapshot.catalogue, snapshot.answers)),
      profile_(ActiveProfile(pool_, snapshot.answers.configuration)),
      profile_disabled_(IsProfileDisabled(pool_, snapshot.answers.configuration, profile_)),
      account_(pool_.account),
      reconfiguration_(pool_.reconfiguration),
      budget_(pool_.spec.max_unavailable, pool_.spec.target_nodes, snapshot.nodes) {
  for (const Node* node : snapshot.nodes) nodes_.emplace_hint(nodes_.end(), node->name, *node);
}

PoolPlan Planner::Run() {
  RaiseGenerations();
  if (Finished()) return std::move(plan_);
  PurgeReturned();
  Preempt();
  AssignGranted();
  LeaveUnheld();
  AbortBrokenBoots();
  TimeOutBoots();
  Health();
  SayGiveUpLimit();
  Reserve();
  LetGo();
  Remove();
  Drain();
  StageProfiles();
  Reconfigure();
  OrderBoots();
  RefreshAllMetadata();
  Agree();
  Publish();
  if (AnyAway()) Due(now() + policy().retry);
  return std::move(plan_);
}

bool Planner::AnyAway() const {
  const auto ask_again = [](const auto& answer) { return answer.away() && !answer.released(); };
  return ask_again(answers().holding) || ask_again(answers().claim) ||
         ask_again(answers().configuration);
}

void Planner::Say(EventReason reason, std::string message) {
  Do(EmitEvent{reason, std::move(message)});
}

void Planner::Wait(DeferReason reason, absl::string_view subject, std::string message,
                   absl::Time until) {
  plan_.defers.push_back({reason, std::string(subject), std::move(message), until});
  if (until != kNever) Due(until);
}

bool Planner::Step(Node& node, NodeEvent event, absl::string_view reason, RemovalCause cause,
                   absl::Time drain_deadline) {
  return Take(node, StepNode{node.name, event, cause, drain_deadline, "", std::string(reason)});
}

std::vector<const Node*> Planner::Nodes() const {
  std::vector<const Node*> nodes;
  nodes.reserve(nodes_.size());
  for (const auto& [name, node] : nodes_) nodes.push_back(&node);
  return nodes;
}

int64_t Planner::Keeping() const { return KeptNodes(pool_, Nodes(), answers().claim); }

bool Planner::MayDisrupt(const Node& node, const char* cause) {
  if (TakenFor(node) != nullptr || budget_.Spend(node.machine, cause)) return true;
  Wait(DeferReason::kDisruptionBudget, node.name,
       absl::StrCat("Node ", node.machine, " waits (", cause, "): ", budget_.Denial(), "."));
  return false;
}

PoolPlan Plan(const Snapshot& snapshot) {
  const Answers& answers = snapshot.answers;
  const bool released = answers.holding.released() || answers.claim.released();
  if (!released || !snapshot.pool->deleting()) return Planner(snapshot).Run();
  Snapshot settled = snapshot;
  TakeAsEmpty(settled.answers.holding);
  TakeAsEmpty(settled.answers.claim);
  return Planner(settled).Run();
}

}  // namespace muster::lifecycle
