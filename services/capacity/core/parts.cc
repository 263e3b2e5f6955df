#include "services/capacity/core/parts.h"

#include <algorithm>

#include "services/capacity/core/limits.h"

namespace muster::capacity {

int64_t Outstanding(const std::vector<ClaimPart>& parts) {
  int64_t nodes = 0;
  for (const ClaimPart& part : parts) nodes += part.nodes;
  return nodes;
}

void AddPart(std::vector<ClaimPart>& parts, absl::Time time, int64_t nodes) {
  if (nodes == 0) return;
  // Almost always at the end; before it for a machine lost to repair, or when a replica's clock is
  // behind.
  auto at = parts.end();
  while (at != parts.begin() && time < std::prev(at)->request_time) --at;
  if (at != parts.begin() && std::prev(at)->request_time == time) {
    std::prev(at)->nodes += nodes;
    return;
  }
  parts.insert(at, {time, nodes});
  if (parts.size() > kMaxParts) {
    const int64_t older = (parts.end() - 2)->nodes;
    parts.erase(parts.end() - 2);
    parts.back().nodes += older;
  }
}

void CancelYoungest(std::vector<ClaimPart>& parts, int64_t nodes) {
  while (nodes > 0 && !parts.empty()) {
    const int64_t taken = std::min(nodes, parts.back().nodes);
    parts.back().nodes -= taken;
    nodes -= taken;
    if (parts.back().nodes == 0) parts.pop_back();
  }
}

void TakeFrom(std::vector<ClaimPart>& parts, absl::Time time) {
  const auto part = std::find_if(parts.begin(), parts.end(),
                                 [time](const ClaimPart& one) { return one.request_time == time; });
  if (--part->nodes == 0) parts.erase(part);
}

}  // namespace muster::capacity
