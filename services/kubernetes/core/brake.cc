#include "services/kubernetes/core/brake.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace muster::kubernetes {
namespace {

bool IsFew(int64_t going, int64_t all, const BrakeLimits& limits) {
  return going <= std::max(limits.count, all * limits.percent / 100);
}

}  // namespace

BrakeVerdict JudgeRemovals(const BrakeFacts& facts, const BrakeLimits& limits) {
  if (facts.would_go.empty()) return BrakeVerdict::kPass;
  const Removals going = facts.would_go + facts.went;
  if (IsFew(going.node_pools, facts.all.node_pools, limits) &&
      IsFew(going.nodes, facts.all.nodes, limits)) {
    return BrakeVerdict::kPass;
  }
  const bool covered = facts.would_go.node_pools <= facts.allowed.node_pools &&
                       facts.would_go.nodes <= facts.allowed.nodes;
  return covered ? BrakeVerdict::kPassByOrder : BrakeVerdict::kHold;
}

std::string ReleasingCommand(const std::string& cluster, const Removals& held) {
  std::string command = absl::StrCat("musterctl allow removals ", cluster);
  if (held.node_pools > 0) absl::StrAppend(&command, " --node-pools=", held.node_pools);
  if (held.nodes > 0) absl::StrAppend(&command, " --nodes=", held.nodes);
  return command;
}

}  // namespace muster::kubernetes
