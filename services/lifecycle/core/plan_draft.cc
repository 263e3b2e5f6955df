#include "services/lifecycle/core/plan_draft.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/removals.h"
#include "services/lifecycle/core/victims.h"

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

bool IsBefore(const Node* node, const std::string& name) { return node->name < name; }

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
      profile_disabled(IsProfileDisabled(pool, answers.configuration, profile)),
      asked(pool.reconfiguration) {}

bool PlanFacts::IsDisabled(absl::string_view which) const {
  return IsProfileDisabled(pool, answers.configuration, which);
}

bool PlanFacts::ActiveToo() const { return lifecycle::ActiveToo(pool); }

bool PlanFacts::IsUnheld(const Node& node) const {
  return lifecycle::IsUnheld(pool, node, answers.claim);
}

Draft::Draft(const PlanFacts& facts, bool look_at_all)
    : Draft(facts, SortOut(facts, look_at_all)) {}

Draft::Draft(const PlanFacts& facts, SortedNodes sorted)
    : quiet(std::move(sorted.quiet)),
      nodes(std::move(sorted.looked_at)),
      account(facts.pool.account),
      reconfiguration(facts.pool.reconfiguration),
      budget(facts.pool.spec.max_unavailable, facts.pool.spec.target_nodes, LookedAt(),
             quiet.size()),
      facts_(facts),
      quiet_rows_(std::move(sorted.quiet_rows)),
      kept_(quiet.size()) {
  for (const auto& [name, node] : nodes) kept_ += Keeps(node);
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

void Draft::Assign(AssignNode action) {
  Node node = NodeOf(facts_.pool, action, facts_.now);
  kept_ += Keeps(node);
  nodes[node.name] = std::move(node);
  AddStep(std::move(action));
}

std::map<std::string, Node>::iterator Draft::Purge(std::map<std::string, Node>::iterator node,
                                                   absl::string_view reason) {
  AddAction(PurgeNode{node->first, std::string(reason)});
  kept_ -= Keeps(node->second);
  purged_.insert(node->second.machine);
  return nodes.erase(node);
}

std::vector<const Node*> Draft::LookedAt() const {
  std::vector<const Node*> all;
  all.reserve(nodes.size());
  for (const auto& [name, node] : nodes) all.push_back(&node);
  return all;
}

std::vector<const Node*> Draft::Nodes() const {
  std::vector<const Node*> all;
  all.reserve(nodes.size() + quiet_rows_.size());
  auto from = quiet_rows_.begin();
  for (const auto& [name, node] : nodes) {
    const auto to = std::lower_bound(from, quiet_rows_.end(), name, IsBefore);
    all.insert(all.end(), from, to);
    all.push_back(&node);
    // A Node that was quiet is in both.
    from = to != quiet_rows_.end() && (*to)->name == name ? std::next(to) : to;
  }
  all.insert(all.end(), from, quiet_rows_.end());
  return all;
}

std::vector<const Node*> Draft::OnlyCounted() const {
  if (chose) return {};
  std::vector<const Node*> counted = quiet_rows_;
  if (std::ssize(counted) > quiet.size())
    std::erase_if(counted, [&](const Node* node) { return nodes.contains(node->name); });
  return counted;
}

const Node* Draft::QuietRow(const std::string& name) const {
  const auto row = std::lower_bound(quiet_rows_.begin(), quiet_rows_.end(), name, IsBefore);
  return row != quiet_rows_.end() && (*row)->name == name ? *row : nullptr;
}

bool Draft::Has(const std::string& name) const {
  return nodes.contains(name) || QuietRow(name) != nullptr;
}

Node& Draft::LookAt(const std::string& name) {
  if (const auto it = nodes.find(name); it != nodes.end()) return it->second;
  const Node& row = *QuietRow(name);
  quiet.Add(row, -1);
  return nodes.emplace(name, row).first->second;
}

int64_t Draft::Keeps(const Node& node) const {
  return Stays(node.state) && !facts_.IsUnheld(node) ? 1 : 0;
}

Budget Draft::BudgetOf(absl::string_view text) const {
  return Budget(text, facts_.pool.spec.target_nodes, LookedAt(), quiet.size());
}

bool Draft::MayDisrupt(const Node& node, const char* cause) {
  if (TakenFor(node) != nullptr || budget.Spend(node.machine, cause)) return true;
  AddDefer(DeferReason::kDisruptionBudget, node.name,
           absl::StrCat("Node ", node.machine, " waits (", cause, "): ", budget.Denial(), "."));
  return false;
}

}  // namespace muster::lifecycle
