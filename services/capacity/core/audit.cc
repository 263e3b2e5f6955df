#include "services/capacity/core/audit.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "services/capacity/core/machine_state.h"
#include "services/capacity/core/parts.h"

namespace muster::capacity {
namespace {

void AuditMachine(const State& state, const MachineRow& machine, std::vector<std::string>& faults) {
  const bool held =
      machine.state == MachineState::kHeld || machine.state == MachineState::kReclaiming;
  if (held == machine.claim.empty() || held != machine.request_time.has_value()) {
    faults.push_back(absl::StrCat(machine.id, " is ", NameOf(machine.state), " with claim '",
                                  machine.claim, "'."));
  }
  if (!held) return;
  const ClaimRow* claim = state.FindClaim(machine.claim);
  if (claim == nullptr || claim->zone != machine.zone ||
      claim->instance_type != machine.instance_type) {
    faults.push_back(absl::StrCat(machine.id, " is held by claim '", machine.claim,
                                  "', which is not there or for others."));
  }
}

void AuditClaim(const State& state, const ClaimRow& claim, std::vector<std::string>& faults) {
  const int64_t held = state.FootprintOf(claim.pool_uid).held();
  const int64_t wanted = std::max<int64_t>(0, claim.nodes - held);
  if (Outstanding(claim.parts) != wanted) {
    faults.push_back(absl::StrCat("Claim ", claim.pool_uid, " waits for ", Outstanding(claim.parts),
                                  ", not ", wanted, "."));
  }
  for (size_t i = 0; i < claim.parts.size(); ++i) {
    const bool ordered = i == 0 || claim.parts[i - 1].request_time < claim.parts[i].request_time;
    if (!ordered || claim.parts[i].nodes <= 0)
      faults.push_back(absl::StrCat("Claim ", claim.pool_uid, ": parts out of order."));
  }
}

}  // namespace

std::vector<std::string> Audit(const State& state) {
  std::vector<std::string> faults;
  for (const auto& [key, machine] : state.table<MachineRow>().rows())
    AuditMachine(state, *machine.row, faults);
  for (const auto& [key, claim] : state.table<ClaimRow>().rows())
    AuditClaim(state, *claim.row, faults);
  int64_t counted = 0;
  for (const auto& [key, depot] : state.depots()) {
    counted += depot.in_service() + depot.count(MachineState::kInRepair) +
               depot.count(MachineState::kRetired);
  }
  const int64_t registered = static_cast<int64_t>(state.table<MachineRow>().size());
  if (counted != registered)
    faults.push_back(absl::StrCat(counted, " machines counted, ", registered, " registered."));
  State rebuilt;
  state.ForEach(
      [&](const Revised<State::Change>& row) { rebuilt.Apply(row.change, row.revision); });
  if (!rebuilt.SameIndexes(state))
    faults.push_back("The indexes are not those that the rows give.");
  return faults;
}

}  // namespace muster::capacity
