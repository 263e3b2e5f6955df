#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "services/access/policy.h"
#include "services/common/change_pace.h"

namespace muster::access {

// Who calls, and what it may do.
struct Caller {
  std::string principal = {};
  // Why the proof that it showed is not believed: all its calls are answered this, UNAUTHENTICATED.
  // OK: it is believed, or showed none.
  absl::Status unproven = {};
  std::shared_ptr<const Rights> rights = Rights::None();
  // What the answer is to be narrowed to (muster.type.v1.Access.REACH_NARROWED); null: it is not.
  std::shared_ptr<const Scope> narrowed_to = {};
  // The refusal of a call that was allowed once and is not any more: it is answered this unless it
  // repeats a call whose answer is kept. OK: the call is allowed.
  absl::Status unless_repeated = {};

  // Whether the changes of its call are committed before those of others (storage::CommitQueue).
  bool goes_first = false;

  // Is told how much its call has changed; null: nobody counts.
  std::shared_ptr<ChangePace> pace = {};

  // The caller's scope for a verb; lives as long as the shared_ptr.
  std::shared_ptr<const Scope> ScopeOf(Verb verb) const { return {rights, &rights->Of(verb)}; }
};

// The number by which the caller's calls take turns with those of others: one for all callers of an
// organization, whatever their names; one for each other caller. 0: the process itself.
uint64_t TurnOf(const Caller& caller);

// The account that the caller's changes and kept answers count for: `organizations/{organization}`,
// or the caller's own name if it is of several or of none. Empty: the platform's, for the process
// itself and callers that may read everywhere.
std::string AccountOf(const Caller& caller);

// PERMISSION_DENIED, or UNAUTHENTICATED for who has neither a name nor rights: "`principal` may not
// call `method``why`". `verbs`: that it takes, for the error's details; empty: none is told.
absl::Status Refusal(const Caller& caller, absl::string_view method, absl::string_view why,
                     absl::string_view verbs = "");

}  // namespace muster::access
