#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

// The names that the first edition of the NodePool API had for today's conditions and events
// (`--condition-edition=first|both` of the Kubernetes adapter). The one table that holds the
// mapping.
//
// MetadataSynced (Synced, Pending, Unknown) has no counterpart today: it is set by the code that
// writes the metadata of Nodes, which knows whether it is synced. The event NodeCWActive has none
// either: it is told by the code that writes the condition CWActive of a v1 Node.
namespace muster {

inline constexpr char kMetadataSynced[] = "MetadataSynced";
inline constexpr char kAllocated[] = "Allocated";
inline constexpr char kSufficientCapacity[] = "SufficientCapacity";
inline constexpr char kPolicyViolation[] = "PolicyViolation";

struct FirstEditionCondition {
  std::string type = {};
  std::string reason = {};
  bool operator==(const FirstEditionCondition&) const = default;
};

// The first edition's condition for one of today; Accepted stands for two of them. nullopt: it had
// none (NodeReconfigurationRequired). `event_reason`: of the event that goes with the condition, if
// any.
std::optional<FirstEditionCondition> FirstEditionOfCondition(absl::string_view type,
                                                             absl::string_view reason,
                                                             absl::string_view event_reason = "");

struct FirstEditionEvent {
  absl::string_view reason;  // of today
  bool on_pool = false;      // it is about a NodePool, else about a Node
  absl::string_view first;
};

// All events that the first edition had under another name.
absl::Span<const FirstEditionEvent> FirstEditionEvents();

// The first edition's name of an event; empty: it had none.
absl::string_view FirstEditionOfEvent(absl::string_view reason, bool on_pool);

}  // namespace muster
