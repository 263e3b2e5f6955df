#include "services/lifecycle/core/budget.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "services/common/count_text.h"
#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/text.h"

namespace muster::lifecycle {
namespace {

constexpr char kUnhealthy[] = "unhealthy";

// Whether a Node that is prepared for termination was taken out of service. Who is ended without a
// drain was never in service, unless it was rebooting, for which it was cordoned by no order.
bool WasTaken(const Node& node) {
  return node.desired.drain || (node.desired.cordoned && node.orders.cordon_time == kNever);
}

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

const char* TakenFor(const Node& node) {
  switch (node.state) {
    case NodeState::kCordoned:
    case NodeState::kDraining:
    case NodeState::kPreparedForTerminate:
      if (node.state == NodeState::kPreparedForTerminate && !WasTaken(node)) return nullptr;
      if (node.removal_cause == RemovalCause::kScaleDown) return "scale-down";
      if (node.removal_cause == RemovalCause::kRepair) return "repair";
      if (node.removal_cause == RemovalCause::kReservation) return "reservation";
      return nullptr;
    case NodeState::kReconfiguring:
      return "reconfigure";
    case NodeState::kProduction:
    case NodeState::kTriage:
      if (node.reconfigure_time != kNever)
        return node.orders.reboot == Reboot::kNone ? "reconfigure" : "reboot";
      return node.desired.drain ? "drain" : nullptr;
    case NodeState::kAssigned:
    case NodeState::kBooting:
    case NodeState::kRegistered:
    case NodeState::kDeleted:
    case NodeState::kDeliveryFailed:
      return nullptr;
  }
  return nullptr;
}

const char* DisruptionOf(const Node& node) {
  const char* cause = TakenFor(node);
  if (cause != nullptr) return cause;
  const bool ill = node.state == NodeState::kTriage ||
                   (node.state == NodeState::kProduction && node.observed.unhealthy);
  return ill ? kUnhealthy : nullptr;
}

Budget::Budget(absl::string_view text, int64_t target, const std::vector<const Node*>& nodes,
               int64_t others)
    : text_(text),
      size_(std::max(target, Here(nodes) + others)),
      limit_(MaxUnavailable(text, size_)) {
  for (const Node* node : nodes) {
    const char* cause = DisruptionOf(*node);
    if (cause != nullptr) Add(node->machine, cause);
  }
}

void Budget::Add(const std::string& machine, const char* cause) {
  by_machine_.try_emplace(machine, uses_.size());
  uses_.push_back({machine, cause});
  taken_ += cause == kUnhealthy ? 0 : 1;
  denial_.clear();
}

bool Budget::Spend(const std::string& machine, const char* cause) {
  const auto own = by_machine_.find(machine);
  const bool ill = own != by_machine_.end() && uses_[own->second].cause == kUnhealthy;
  if (limit_ && (ill ? taken_ : used()) >= *limit_) return false;
  Take(machine, cause);
  return true;
}

void Budget::Take(const std::string& machine, const char* cause) {
  const auto own = by_machine_.find(machine);
  const bool ill = own != by_machine_.end() && uses_[own->second].cause == kUnhealthy;
  if (!ill) return Add(machine, cause);
  uses_[own->second].cause = cause;
  ++taken_;
  denial_.clear();
}

void Budget::FallIll(const std::string& machine) {
  if (!by_machine_.contains(machine)) Add(machine, kUnhealthy);
}

// Kept: many Nodes may be denied in a row.
const std::string& Budget::Denial() const {
  if (!denial_.empty()) return denial_;
  std::vector<std::string> uses;
  for (const Use& use : uses_) uses.push_back(absl::StrCat(use.machine, " (", use.cause, ")"));
  denial_ = absl::StrCat("maxUnavailable ", text_, " (", limit_.value_or(size_), " of ",
                         CountText(size_, "Node"), ") is used up by ", ListText(uses));
  return denial_;
}

}  // namespace muster::lifecycle
