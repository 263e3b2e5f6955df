#include "services/lifecycle/core/budget.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/text.h"

namespace muster::lifecycle {
namespace {

int64_t Here(const std::vector<const Node*>& nodes) {
  return std::count_if(nodes.begin(), nodes.end(),
                       [](const Node* node) { return !IsReturnable(node->state); });
}

}  // namespace

bool IsMaxUnavailable(absl::string_view text) {
  const bool percent = absl::ConsumeSuffix(&text, "%");
  int64_t number = 0;
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
  return digits && absl::SimpleAtoi(text, &number) && number >= 1 &&
         number <= (percent ? 100 : kMaxTargetNodes);
}

std::optional<int64_t> MaxUnavailable(absl::string_view text, int64_t nodes) {
  if (text.empty()) return std::nullopt;
  int64_t number = 1;
  const bool percent = absl::ConsumeSuffix(&text, "%");
  if (!absl::SimpleAtoi(text, &number)) return 1;
  return std::max<int64_t>(1, percent ? nodes * number / 100 : number);
}

const char* DisruptionOf(const Node& node) {
  switch (node.state) {
    case NodeState::kCordoned:
    case NodeState::kDraining:
    case NodeState::kPreparedForTerminate:
      // One that was not drained was never in service.
      if (node.state == NodeState::kPreparedForTerminate && !node.desired.drain) return nullptr;
      if (node.removal_cause == RemovalCause::kScaleDown) return "scale-down";
      if (node.removal_cause == RemovalCause::kRepair) return "repair";
      return nullptr;
    case NodeState::kReconfiguring:
      return "reconfigure";
    case NodeState::kProduction:
      return node.reconfigure_time != kNever ? "reconfigure" : nullptr;
    case NodeState::kAssigned:
    case NodeState::kBooting:
    case NodeState::kRegistered:
    case NodeState::kTriage:
    case NodeState::kDeleted:
    case NodeState::kDeliveryFailed:
      return nullptr;
  }
  return nullptr;
}

Budget::Budget(absl::string_view text, int64_t target, const std::vector<const Node*>& nodes)
    : text_(text), size_(std::max(target, Here(nodes))), limit_(MaxUnavailable(text, size_)) {
  for (const Node* node : nodes) {
    const char* cause = DisruptionOf(*node);
    if (cause != nullptr) uses_.push_back(absl::StrCat(node->machine, " (", cause, ")"));
  }
}

bool Budget::Spend(const std::string& machine, const char* cause) {
  if (limit_ && used() >= *limit_) return false;
  uses_.push_back(absl::StrCat(machine, " (", cause, ")"));
  return true;
}

std::string Budget::Denial() const {
  return absl::StrCat("maxUnavailable ", text_, " (", limit_.value_or(size_), " of ",
                      CountText(size_, "Node"), ") is used up by ", ListText(uses_));
}

}  // namespace muster::lifecycle
