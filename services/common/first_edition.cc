#include "services/common/first_edition.h"

#include <algorithm>
#include <iterator>

#include "services/common/condition_names.h"
#include "services/common/event_reasons.h"

namespace muster {
namespace {

// An empty reason: any, kept as it is. An empty reason of an event: any.
struct ConditionNames {
  absl::string_view type;
  absl::string_view reason;
  absl::string_view first_type;
  absl::string_view first_reason;
  absl::string_view event_reason = "";
};

// A condition that the first edition could not express stands for the nearest that it could.
constexpr ConditionNames kConditions[] = {
    {condition::kValidated, reason::kValid, condition::kAccepted, condition::kAccepted},
    {condition::kValidated, reason::kInvalid, condition::kAccepted, kPolicyViolation,
     TextOf(EventReason::kInstanceTypeNotInZone)},
    {condition::kValidated, "", condition::kAccepted, ""},
    {condition::kQuota, reason::kUnder, condition::kAccepted, condition::kAccepted},
    {condition::kQuota, reason::kOver, condition::kAccepted, kPolicyViolation},
    {condition::kQuota, reason::kNotSet, condition::kAccepted, kPolicyViolation},
    {condition::kQuota, "", condition::kAccepted, ""},
    {condition::kAtTarget, reason::kTargetMet, kAllocated, reason::kComplete},
    {condition::kAtTarget, "", kAllocated, ""},
    {condition::kCapacity, reason::kQueuedAwaitingCapacity, kSufficientCapacity, reason::kPartial},
    {condition::kCapacity, reason::kPartialNodeAffinity, kSufficientCapacity, reason::kPartial},
    {condition::kCapacity, reason::kNoneAvailableNodeAffinity, kSufficientCapacity,
     reason::kNoneAvailable},
    {condition::kCapacity, "", kSufficientCapacity, ""},
    {condition::kNodesRemoved, "", condition::kNodesRemoved, ""},
    {condition::kMaxNodesUnreachable, "", condition::kMaxNodesUnreachable, ""},
};

constexpr FirstEditionEvent kEvents[] = {
    {TextOf(EventReason::kNodeRegistered), false, "CWNodeRegisteredEvent"},
    {TextOf(EventReason::kNodeRegistrationFailed), false, "CWRegistrationFailedEvent"},
    {TextOf(EventReason::kNodeRegistered), true, "NodePoolNodesAllocated"},
    {TextOf(EventReason::kNodeRequestQueued), true, "NodePoolNodesRequested"},
    {TextOf(EventReason::kNodePoolRemoveNodes), true, "NodePoolRemoveNodes"},
    {TextOf(EventReason::kNodePoolNodesRemoveError), true, "NodePoolNodesRemoveError"},
    {TextOf(EventReason::kNodePoolMetadata), true, "NodePoolMetadata"},
    {TextOf(EventReason::kNodePoolNodesRemoved), true, "NodePoolNodesRemoved"},
    {TextOf(EventReason::kNodePoolNodesRequestFailed), true, "NodePoolNodesRequestFailed"},
    {TextOf(EventReason::kInvalidInstanceType), true, "InvalidInstanceType"},
    {TextOf(EventReason::kInstanceTypeNotInZone), true, "InstanceTypeNotInZone"},
    {TextOf(EventReason::kNodePoolQuotaCheckFailed), true, "NodePoolQuotaCheckFailed"},
    {TextOf(EventReason::kOverQuota), true, "NPOCWOverQuota"},
};

}  // namespace

std::optional<FirstEditionCondition> FirstEditionOfCondition(absl::string_view type,
                                                             absl::string_view reason,
                                                             absl::string_view event_reason) {
  const auto fits = [](absl::string_view wanted, absl::string_view is) {
    return wanted.empty() || wanted == is;
  };
  const auto* found = std::find_if(std::begin(kConditions), std::end(kConditions), [&](auto& row) {
    return row.type == type && fits(row.reason, reason) && fits(row.event_reason, event_reason);
  });
  if (found == std::end(kConditions)) return std::nullopt;
  const absl::string_view word = found->first_reason.empty() ? reason : found->first_reason;
  return FirstEditionCondition{std::string(found->first_type), std::string(word)};
}

absl::Span<const FirstEditionEvent> FirstEditionEvents() { return kEvents; }

absl::string_view FirstEditionOfEvent(absl::string_view reason, bool on_pool) {
  const auto* found = std::find_if(std::begin(kEvents), std::end(kEvents), [&](auto& row) {
    return row.reason == reason && row.on_pool == on_pool;
  });
  return found == std::end(kEvents) ? absl::string_view() : found->first;
}

}  // namespace muster
