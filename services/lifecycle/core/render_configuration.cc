#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/condition_names.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/reconfiguration.h"
#include "services/lifecycle/core/render_parts.h"
#include "services/lifecycle/core/text.h"

namespace muster::lifecycle {
namespace {

// True when the Node runs another configuration than `profile`, or reboots into another.
bool IsOutdated(const Node& node, const std::string& profile) {
  return node.observed.node_profile != profile ||
         (node.state == NodeState::kReconfiguring && node.desired.node_profile != profile);
}

// How far a configuration has reached.
struct Reach {
  int64_t here = 0;      // Nodes in the cluster
  int64_t outdated = 0;  // outdated Nodes that stay
  int64_t leaving = 0;   // outdated Nodes in the cluster that do not stay
};

Reach ReachOf(const PlannedState& planned, const std::string& profile) {
  Reach reach;
  for (const QuietNodes::OnProfile& on : planned.quiet.profiles()) {
    const bool is_outdated = on.node_profile != profile;
    reach.here += on.present;
    reach.outdated += is_outdated ? on.in_service : 0;
    reach.leaving += is_outdated ? on.present_to_come : 0;
  }
  for (const Node* node : planned.nodes) {
    const bool is_outdated = IsOutdated(*node, profile);
    const bool stays = IsInService(node->state);
    reach.here += IsPresent(*node) ? 1 : 0;
    reach.outdated += stays && is_outdated ? 1 : 0;
    reach.leaving += !stays && IsPresent(*node) && is_outdated ? 1 : 0;
  }
  return reach;
}

// Nodes in service that the configuration could not be staged on, and why.
std::vector<std::string> NotStaged(const PlannedState& planned) {
  std::vector<std::string> failed;
  for (const Node* node : planned.nodes) {
    if (!node->observed.staging_error.empty() && IsInService(node->state)) {
      failed.push_back(absl::StrCat(node->machine, " (", node->observed.staging_error.get(), ")"));
    }
  }
  return failed;
}

Condition ReconfigurationOf(const Snapshot& snapshot, const PlannedState& planned,
                            const std::string& profile) {
  if (const std::vector<std::string> failed = NotStaged(planned); !failed.empty()) {
    return {condition::kNodeReconfigurationRequired, condition_status::kUnknown,
            reason::kInternalError,
            absl::StrCat(profile, " could not be staged on Node ", ListText(failed), ".")};
  }
  const auto [here, outdated, leaving] = ReachOf(planned, profile);
  const int64_t in_service = CountNodes(planned).in_service;
  Pool after = *snapshot.pool;
  after.status.node_profile = profile;
  if (snapshot.answers.configuration.here())
    after.status.revisions = snapshot.answers.configuration.value.revisions;
  if (IsDisabled(after) && (outdated > 0 || in_service < after.target_nodes())) {
    return {
        condition::kNodeReconfigurationRequired, condition_status::kUnknown, reason::kInternalError,
        absl::StrCat("Configuration ", profile,
                     " is disabled: too many boots failed, and no further Node boots into it.")};
  }
  if (outdated > 0) {
    const std::string reboots =
        planned.reconfiguration ? SayReconfiguration(*planned.reconfiguration) : "";
    return {condition::kNodeReconfigurationRequired, condition_status::kTrue,
            reason::kStagedNodeConfig,
            absl::StrCat(ShareText(outdated, in_service), " must be reconfigure-rebooted to reach ",
                         profile, ".", reboots.empty() ? "" : " ", reboots)};
  }
  std::string message = "All nodes are on the current configuration.";
  if (here == 0) message = "NodePool has no Nodes.";
  if (leaving > 0) {
    message = absl::StrCat("All nodes that stay are on the current configuration; ", leaving,
                           leaving == 1 ? " that leaves is not." : " that leave are not.");
  }
  return {condition::kNodeReconfigurationRequired, condition_status::kFalse,
          reason::kAllNodesUpToDate, std::move(message)};
}

// Whether configuration was not asked, and may never have been told of this spec: while the
// catalogue, or the pool's type in it, is not known. Of a pool without Nodes that has faults all
// the same can be said.
bool IsUnasked(const Snapshot& snapshot, const PlannedState& planned) {
  if (snapshot.answers.configuration.here() || snapshot.pool->deleting()) return false;
  const Validity validity = planned.catalogue_check.validity;
  return validity == Validity::kUnknown ||
         (validity == Validity::kInvalid && !snapshot.nodes.empty());
}

}  // namespace

void RenderReconfiguration(std::vector<Condition>& out, const Snapshot& snapshot,
                           const PlannedState& planned, const std::string& profile) {
  const PeerReply<ConfigurationFacts>& answer = snapshot.answers.configuration;
  if (answer.away()) {
    out.push_back({condition::kNodeReconfigurationRequired, condition_status::kUnknown,
                   reason::kInternalError,
                   answer.released() ? ReleasedText("configuration")
                                     : "The configuration could not be read."});
    return;
  }
  if (answer.here() && !answer.value.problem.empty()) {
    out.push_back({condition::kNodeReconfigurationRequired, condition_status::kUnknown,
                   reason::kInternalError, answer.value.problem});
    return;
  }
  // Nodes are held against what configuration said last, of the generation that it was said of.
  // What was unknown stays so.
  const bool is_unasked = IsUnasked(snapshot, planned);
  const Condition* before =
      FindCondition(snapshot.pool->status.conditions, condition::kNodeReconfigurationRequired);
  if (is_unasked && (before == nullptr || before->status == condition_status::kUnknown)) {
    if (before != nullptr) out.push_back(*before);
    return;
  }
  out.push_back(ReconfigurationOf(snapshot, planned, profile));
  if (is_unasked) out.back().observed_generation = before->observed_generation;
}

void RenderConfiguration(Status& status, const Snapshot& snapshot, const PlannedState& planned) {
  const PeerReply<ConfigurationFacts>& answer = snapshot.answers.configuration;
  if (answer.here() && !snapshot.pool->deleting()) {
    if (!answer.value.active.empty()) status.node_profile = answer.value.active;
    status.pending = answer.value.pending;
    status.waiting = answer.value.waiting;
    status.revisions = answer.value.revisions;
    // Configuration lists them by when each became active last; the status, by when each was made.
    std::stable_sort(status.revisions.begin(), status.revisions.end(),
                     [](const NodeConfiguration& a, const NodeConfiguration& b) {
                       return a.created_at < b.created_at;
                     });
  }
  for (NodeConfiguration& revision : status.revisions) {
    revision.active_nodes =
        planned.quiet.PresentOn(revision.node_profile) +
        std::count_if(planned.nodes.begin(), planned.nodes.end(), [&](const Node* node) {
          return node->observed.node_profile == revision.node_profile && IsPresent(*node);
        });
  }
}

}  // namespace muster::lifecycle
