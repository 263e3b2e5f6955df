#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/capacity/core/state.h"

namespace muster::capacity {

// See Claim.Reason in the proto.
enum class ClaimReason {
  kSufficient,
  kQueued,
  kPartial,
  kNoneAvailable,
  kUnknownInstanceType,
  kNotInZone,
  kPartialNodeAffinity,
  kNoneAvailableNodeAffinity
};

// A claim with what follows from the rest of the state.
struct ClaimView {
  ClaimRow claim = {};
  std::vector<std::string> machines = {};  // ids, sorted
  ClaimReason reason = ClaimReason::kSufficient;
  int64_t in_service = 0;
  int64_t matching = 0;                        // machines in service that match the affinity
  int64_t matching_in_repair = 0;              // machines in repair that do
  std::vector<std::string> granted = {};       // ids of what the request brought, sorted
  std::optional<QueuePlace> queue = {};        // set while something is outstanding
  std::vector<Reclaimed> reclaims = {};        // its machines that are to be given back, by machine
  std::vector<std::string> racks = {};         // of `machines`, in the same order
  std::vector<absl::Time> request_times = {};  // likewise
  std::vector<absl::Time> grant_times = {};    // likewise
  std::string machines_print = {};             // of `machines` and the three lists beside them
  bool machines_unchanged = false;             // the caller has these four; they are empty here

  bool operator==(const ClaimView&) const = default;
};

// All but `granted`. Costs O(machines held), O(label classes) when the claim has an affinity, and
// O(lines × log) when it waits. `known_machines`: a print (machines_print.h); while it is the
// claim's, the lists that it stands for are left out, and machines held cost nothing unless the
// claim waits or some of them are reclaimed.
ClaimView ViewOf(const State& state, const ClaimRow& claim, absl::string_view known_machines = "");

}  // namespace muster::capacity
