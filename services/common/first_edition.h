#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

// The names that the first edition of the NodePool API had for today's conditions and events
// (`--condition-edition=first|both` of the Kubernetes adapter). The one table that holds the
// mapping.
//
// MetadataSynced (Synced, Pending, Unknown) has no counterpart today: who writes the metadata of
// Nodes knows whether it is synced, see kMetadataSynced. The first edition's event NodeCWActive has
// none either: the condition CWActive says it.
namespace muster {

inline constexpr char kMetadataSynced[] = "MetadataSynced";

struct FirstEditionCondition {
  std::string type = {};
  std::string reason = {};
  bool operator==(const FirstEditionCondition&) const = default;
};

// nullopt: the first edition had no such condition (Quota, NodeReconfigurationRequired).
std::optional<FirstEditionCondition> FirstEditionOfCondition(absl::string_view type,
                                                             absl::string_view reason);

// `on_pool`: the event is about a NodePool, else about a Node. Empty: the first edition had none.
absl::string_view FirstEditionOfEvent(absl::string_view reason, bool on_pool);

}  // namespace muster
