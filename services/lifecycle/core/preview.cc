#include "services/lifecycle/core/preview.h"

#include <algorithm>

#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/victims.h"

namespace muster::lifecycle {

Preview PreviewOf(const Pool* before, const Pool& after, const std::vector<const Node*>& nodes) {
  Preview preview;
  const auto held = static_cast<int64_t>(nodes.size());
  const int64_t asked = before == nullptr ? 0 : before->account.requested_nodes;
  const int64_t charged =
      before == nullptr ? 0 : std::max({before->account.granted_nodes, asked, held});
  preview.charge = after.wanted_nodes();
  preview.charge_delta = preview.charge - charged;
  preview.more_nodes = std::max<int64_t>(0, after.wanted_nodes() - std::max(asked, held));

  const int64_t keeping = std::count_if(nodes.begin(), nodes.end(), [](const Node* node) {
    return IsInProgress(node->state) || IsInService(node->state);
  });
  const int64_t surplus = keeping - after.wanted_nodes();
  const bool active_too = after.deleting() || after.spec.scale_down_strategy == "PreferIdle";
  for (const Node* victim : VictimsInOrder(nodes, /*active_too=*/true)) {
    if (preview.victim_count >= surplus) break;
    ++preview.victim_count;
    if (victim->observed.active && !active_too) ++preview.waiting_victims;
    if (preview.victims.size() < kMaxNamedMachines) preview.victims.push_back(victim->machine);
  }
  return preview;
}

int64_t NodesToReboot(const std::vector<const Node*>& nodes, const std::string& profile) {
  if (profile.empty()) return 0;
  return std::count_if(nodes.begin(), nodes.end(), [&](const Node* node) {
    return IsInService(node->state) && node->observed.node_profile != profile;
  });
}

}  // namespace muster::lifecycle
