#include "services/lifecycle/core/plan_draft.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/removals.h"

namespace muster::lifecycle {
namespace {

std::string ActiveProfile(const Pool& pool, const PeerReply<ConfigurationFacts>& configuration) {
  const bool fresh = configuration.here() && !configuration.value.active.empty();
  return fresh ? configuration.value.active : pool.status.node_profile;
}

bool IsProfileDisabled(const Pool& pool, const PeerReply<ConfigurationFacts>& configuration,
                       absl::string_view profile) {
  const auto& revisions =
      configuration.here() ? configuration.value.revisions : pool.status.revisions;
  return std::any_of(revisions.begin(), revisions.end(), [&](const NodeConfiguration& revision) {
    return revision.node_profile == profile && revision.disabled;
  });
}

}  // namespace

PlanFacts::PlanFacts(const Snapshot& s)
    : snapshot(s),
      pool(*s.pool),
      answers(s.answers),
      policy(s.policy),
      now(s.now),
      demand(DemandOf(pool, s.nodes, s.catalogue)),
      catalogue_check(CheckAgainstCatalogue(pool, s.catalogue, answers)),
      profile(ActiveProfile(pool, answers.configuration)),
      profile_disabled(IsProfileDisabled(pool, answers.configuration, profile)) {}

bool PlanFacts::ActiveToo() const { return lifecycle::ActiveToo(pool); }

bool PlanFacts::IsUnheld(const Node& node) const {
  return lifecycle::IsUnheld(pool, node, answers.claim);
}

Draft::Draft(const PlanFacts& facts)
    : account(facts.pool.account),
      reconfiguration(facts.pool.reconfiguration),
      budget(facts.pool.spec.max_unavailable, facts.pool.spec.target_nodes, facts.snapshot.nodes),
      facts_(facts) {
  for (const Node* node : facts.snapshot.nodes) nodes.emplace_hint(nodes.end(), node->name, *node);
}

void Draft::AddEvent(EventReason reason, std::string message) {
  AddAction(EmitEvent{reason, std::move(message)});
}

void Draft::AddDefer(DeferReason reason, absl::string_view subject, std::string message,
                     absl::Time until) {
  plan_.defers.push_back({reason, std::string(subject), std::move(message), until});
  if (until != kNever) MoveDue(until);
}

bool Draft::HasStepsLeft() const { return steps_ < kMaxStepsAPlan; }

bool Draft::Step(Node& node, NodeEvent event, absl::string_view reason, RemovalCause cause,
                 absl::Time drain_deadline) {
  return Apply(node, StepNode{node.name, event, cause, drain_deadline, "", std::string(reason)});
}

std::vector<const Node*> Draft::Nodes() const {
  std::vector<const Node*> all;
  all.reserve(nodes.size());
  for (const auto& [name, node] : nodes) all.push_back(&node);
  return all;
}

int64_t Draft::KeptNodes() const {
  return lifecycle::KeptNodes(facts_.pool, Nodes(), facts_.answers.claim);
}

bool Draft::MayDisrupt(const Node& node, const char* cause) {
  if (TakenFor(node) != nullptr || budget.Spend(node.machine, cause)) return true;
  AddDefer(DeferReason::kDisruptionBudget, node.name,
           absl::StrCat("Node ", node.machine, " waits (", cause, "): ", budget.Denial(), "."));
  return false;
}

}  // namespace muster::lifecycle
