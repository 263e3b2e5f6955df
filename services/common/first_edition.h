#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

// The names that the first edition of the NodePool API had for today's conditions and events
// (`--condition-edition=first|both` of the Kubernetes adapter). The one table that holds the
// mapping.
//
// MetadataSynced (Synced, Pending, Unknown) has no counterpart today: who writes the metadata of
// Nodes knows whether it is synced. Its event NodeCWActive has none either: the condition CWActive
// of a v1 Node says it, and who writes that tells it.
namespace muster {

inline constexpr char kMetadataSynced[] = "MetadataSynced";
inline constexpr char kAllocated[] = "Allocated";
inline constexpr char kPolicyViolation[] = "PolicyViolation";
inline constexpr char kNodeActive[] = "NodeCWActive";

struct FirstEditionCondition {
  std::string type = {};
  std::string reason = {};
  bool operator==(const FirstEditionCondition&) const = default;
};

// Which of the first edition's a condition of today goes into; two go into Accepted. nullopt: none
// (NodeReconfigurationRequired). `event_reason`: of the event that goes with it, if one does.
std::optional<FirstEditionCondition> FirstEditionOfCondition(absl::string_view type,
                                                             absl::string_view reason,
                                                             absl::string_view event_reason = "");

struct FirstEditionEvent {
  absl::string_view reason;  // of today
  bool on_pool = false;      // it is about a NodePool, else about a Node
  absl::string_view first;
};

// All that have another name there.
absl::Span<const FirstEditionEvent> FirstEditionEvents();

// Empty: the first edition had none.
absl::string_view FirstEditionOfEvent(absl::string_view reason, bool on_pool);

}  // namespace muster
