#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "services/access/policy.h"
#include "services/common/change_pace.h"

namespace muster::access {

// Who calls, and what it may do.
struct Caller {
  std::string principal = {};
  // Why what it showed of itself is not believed: UNAUTHENTICATED to all it asks.
  absl::Status unproven = {};
  std::shared_ptr<const Rights> rights = Rights::None();
  // What the answer is to be narrowed to (muster.type.v1.Access.REACH_NARROWED); null: it is not.
  std::shared_ptr<const Scope> narrowed_to = {};
  // It may not do what it asks for any more, and is told so, unless it repeats what it was answered before. OK: it may.
  absl::Status unless_repeated = {};

  // Told of what its call has changed; null: nobody counts.
  std::shared_ptr<ChangePace> pace = {};

  // The caller's scope for a verb; lives as long as the shared_ptr.
  std::shared_ptr<const Scope> ScopeOf(Verb verb) const { return {rights, &rights->Of(verb)}; }
};

// With whose calls the caller's take turns, as a number: those of an organization together, whatever their names; others each
// by itself. 0: the process's own.
uint64_t TurnOf(const Caller& caller);

// On whose account goes what the caller causes: `organizations/{organization}`, or its own name if it is of several, or of none; empty:
// the platform's, which is the process itself and who reads everywhere.
std::string AccountOf(const Caller& caller);

}  // namespace muster::access
