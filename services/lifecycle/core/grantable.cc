#include "services/lifecycle/core/grantable.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/condition_names.h"
#include "services/common/count_text.h"
#include "services/lifecycle/core/limits.h"

namespace muster::lifecycle {
namespace {

// What is shown stays while it is off by no more than one in this many.
constexpr int64_t kSteadyShare = 8;

int64_t GrantedBy(const HoldingFacts& holding) {
  const int64_t others = holding.held - holding.nodes;
  return std::clamp<int64_t>(holding.limit - others, 0, kMaxTargetNodes);
}

}  // namespace

Grantable GrantableOf(const HoldingFacts& holding, std::optional<int64_t> obtainable) {
  const int64_t granted = GrantedBy(holding);
  if (!obtainable || *obtainable >= granted) return {granted, reason::kBoundByQuota};
  return {std::max<int64_t>(*obtainable, 0), reason::kBoundByCapacity};
}

Grantable Steady(const Grantable& before, const Grantable& now, int64_t granted) {
  const bool near = std::abs(now.nodes - before.nodes) <= before.nodes / kSteadyShare;
  const bool is_so_still =
      before.bound_by == reason::kBoundByQuota ? before.nodes == granted : before.nodes <= granted;
  return near && is_so_still ? before : now;
}

std::optional<Grantable> GrantableOf(const Snapshot& snapshot) {
  const Pool& pool = *snapshot.pool;
  if (!pool.spec.autoscaling || pool.deleting()) return std::nullopt;
  const std::optional<Grantable>& before = pool.status.grantable;
  const PeerReplies& answers = snapshot.answers;
  if (!answers.holding.here()) return before;
  std::optional<int64_t> obtainable = snapshot.obtainable;
  if (obtainable && !pool.spec.node_affinity.empty() && answers.claim.here()) {
    obtainable = std::min(*obtainable, answers.claim.value.matching);
  }
  // A new leader has not heard of all machines yet.
  if (!obtainable && before && before->bound_by == reason::kBoundByCapacity)
    obtainable = before->nodes;
  const Grantable now = GrantableOf(answers.holding.value, obtainable);
  return before ? Steady(*before, now, GrantedBy(answers.holding.value)) : now;
}

std::string MaxNodesWarning(const Spec& spec, const std::optional<Grantable>& grantable) {
  if (!spec.autoscaling || !grantable || spec.max_nodes <= grantable->nodes) return "";
  const bool quota = grantable->bound_by == reason::kBoundByQuota;
  return absl::StrCat("spec.maxNodes is ", spec.max_nodes, ", and ",
                      quota ? "quota grants" : "capacity has", " the NodePool ",
                      CountText(grantable->nodes, "Node"), " at most: ",
                      quota ? "a target above that gets nothing of what it adds."
                            : "what a target above that adds waits.");
}

void RenderMaxNodes(std::vector<Condition>& out, const Spec& spec,
                    const std::optional<Grantable>& grantable) {
  std::string warning = MaxNodesWarning(spec, grantable);
  if (warning.empty()) return;
  out.push_back({condition::kMaxNodesUnreachable, condition_status::kTrue, grantable->bound_by,
                 std::move(warning)});
}

}  // namespace muster::lifecycle
