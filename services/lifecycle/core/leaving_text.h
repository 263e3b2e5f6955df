#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/count_text.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/text.h"
#include "services/lifecycle/core/types.h"

namespace muster::lifecycle {

// `g100 (default/job and 4 more Pods)`.
inline std::string AtWorkText(const Node& node) {
  const std::vector<std::string>& pods = node.observed.active_pods;
  if (pods.empty()) return node.machine;
  const int64_t all = ActivePods(node.observed);
  const std::string more = all > 1 ? absl::StrCat(" and ", CountText(all - 1, "more Pod")) : "";
  return absl::StrCat(node.machine, " (", pods.front(), more, ")");
}

// What Nodes on their way out wait for, in the order of their steps.
inline std::string LeavingText(const std::vector<const Node*>& leaving) {
  std::vector<std::string> at_work;
  int64_t to_drain = 0;
  int64_t to_end = 0;
  int64_t to_return = 0;
  for (const Node* node : leaving) {
    if (IsReturnable(node->state)) {
      ++to_return;
    } else if (node->state == NodeState::kPreparedForTerminate) {
      ++to_end;
    } else if (node->observed.active) {
      at_work.push_back(AtWorkText(*node));
    } else {
      ++to_drain;
    }
  }
  std::string text = absl::StrCat("Nodes on their way out: ", leaving.size(), ".");
  if (!at_work.empty()) absl::StrAppend(&text, " Still at work: ", ListText(at_work), ".");
  if (to_drain > 0) absl::StrAppend(&text, " To be drained: ", to_drain, ".");
  if (to_end > 0) absl::StrAppend(&text, " To be shut down by their agents: ", to_end, ".");
  if (to_return > 0) absl::StrAppend(&text, " To be taken back by capacity: ", to_return, ".");
  return text;
}

}  // namespace muster::lifecycle
