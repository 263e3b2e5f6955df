#include "services/lifecycle/core/boot_failures.h"

#include <algorithm>

#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/reconfiguration.h"

namespace muster::lifecycle {
namespace {

void AddOnce(std::vector<std::string>& machines, const std::string& machine, size_t most) {
  if (machines.size() >= most) return;
  if (std::find(machines.begin(), machines.end(), machine) == machines.end()) {
    machines.push_back(machine);
  }
}

}  // namespace

const NodeConfiguration* FindRevision(const Pool& pool, const std::string& node_profile) {
  const auto& revisions = pool.status.revisions;
  const auto it = std::find_if(revisions.begin(), revisions.end(),
                               [&](const auto& r) { return r.node_profile == node_profile; });
  return it == revisions.end() ? nullptr : &*it;
}

bool WasIll(const Node& node) {
  return node.state == NodeState::kReconfiguring && node.observed.unhealthy &&
         node.observed.unhealthy_time <= node.desired.phase_time;
}

void CountBootFailure(Pool& pool, const Node& node, bool of_profile) {
  if (WasIll(node)) return;
  if (node.state == NodeState::kReconfiguring && pool.reconfiguring() &&
      IsAsked(*pool.reconfiguration, node)) {
    // One more than are allowed halts it: no more need to be remembered.
    Reconfiguration& asked = *pool.reconfiguration;
    const size_t most = std::max(kMaxBootFailures, static_cast<size_t>(asked.allowed_failures) + 1);
    AddOnce(asked.failed_machines, node.machine, most);
  }
  if (!of_profile) return;
  // A Node that registered runs what it booted, whatever was staged since.
  const bool runs = node.state == NodeState::kRegistered && !node.observed.node_profile.empty();
  const std::string& profile = runs ? node.observed.node_profile : node.desired.node_profile;
  const NodeConfiguration* revision = FindRevision(pool, profile);
  // An agent may say anything, of a Node that was never told to boot, too.
  if (revision == nullptr) return;
  const int64_t enable_count = revision->enable_count;
  BootFailures& failures = pool.account.boot_failures;
  // Who still comes up with another profile says nothing of the active one, whose row goes on.
  const bool is_actives =
      !failures.machines.empty() && failures.node_profile == pool.status.node_profile;
  if (is_actives && failures.node_profile != profile) return;
  if (failures.node_profile != profile || failures.enable_count != enable_count) {
    failures = {profile, enable_count, {}};
  }
  AddOnce(failures.machines, node.machine, kMaxBootFailures);
}

void CountBootSuccess(Pool& pool, const Node& node) {
  BootFailures& failures = pool.account.boot_failures;
  if (failures.node_profile == node.observed.node_profile) failures = {};
}

}  // namespace muster::lifecycle
