#include "services/capacity/core/errors.h"

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/error_reasons.h"

namespace muster::capacity::error {

using muster::error::FailedPrecondition;

absl::Status UnknownZone(absl::string_view zone) {
  return FailedPrecondition("UNKNOWN_ZONE", ZoneName(zone),
                            absl::StrCat("Zone ", zone, " is not in the catalogue."));
}

absl::Status UnknownInstanceType(absl::string_view instance_type) {
  return FailedPrecondition(
      "UNKNOWN_INSTANCE_TYPE", InstanceTypeName(instance_type),
      absl::StrCat("Instance type ", instance_type, " is not in the catalogue."));
}

absl::Status MachineMoved(const MachineRow& machine, absl::string_view zone) {
  const std::string where = machine.zone.get() == zone
                                ? absl::StrCat("as ", machine.instance_type.get(), " in ",
                                               machine.zone.get(), "; neither can be changed.")
                                : "in another zone already; its zone and type cannot be changed.";
  return FailedPrecondition("MACHINE_MOVED", machine.Key(),
                            absl::StrCat("Machine ", machine.id, " is registered ", where));
}

absl::Status MachineHeld(const MachineRow& machine) {
  return FailedPrecondition(
      "MACHINE_HELD", machine.Key(),
      absl::StrCat("Machine ", machine.id, " is held by claim ", machine.claim, "."));
}

absl::Status MachineRetired(const MachineRow& machine) {
  return FailedPrecondition("MACHINE_RETIRED", machine.Key(),
                            absl::StrCat("Machine ", machine.id, " is retired for good."));
}

absl::Status MachineNotRetired(const MachineRow& machine) {
  return FailedPrecondition(
      "MACHINE_NOT_RETIRED", machine.Key(),
      absl::StrCat("Machine ", machine.id, " is not retired; only what is retired is removed."));
}

absl::Status ZoneInUse(absl::string_view zone, int64_t machines, int64_t claims) {
  return FailedPrecondition(
      "ZONE_IN_USE", zone,
      absl::StrCat("The zone has ", machines, " machines and ", claims, " claims of NodePools."));
}

absl::Status InstanceTypeInUse(absl::string_view instance_type, int64_t zones, int64_t machines,
                               int64_t claims) {
  return FailedPrecondition(
      "INSTANCE_TYPE_IN_USE", instance_type,
      absl::StrCat("The instance type is offered in ", zones, " zones, and there are ", machines,
                   " machines of it and ", claims, " claims of NodePools."));
}

absl::Status ClaimChanged(const ClaimRow& claim) {
  return FailedPrecondition(
      "CLAIM_CHANGED", claim.Key(),
      absl::StrCat("Claim ", claim.pool_uid, " is for ", claim.instance_type, " in ", claim.zone,
                   ", class ", NameOf(claim.compute_class),
                   claim.organization.empty() ? "" : ", of organization ", claim.organization,
                   "; none of them can be changed."));
}

absl::Status ClaimHoldsMachines(const ClaimRow& claim, int64_t held) {
  return FailedPrecondition(muster::error::kClaimHoldsMachines, claim.Key(),
                            absl::StrCat("Claim ", claim.pool_uid, " still holds ", held,
                                         " machines that the request does not give back."));
}

absl::Status GenerationReused(const ClaimRow& claim) {
  return FailedPrecondition(
      muster::error::kGenerationReused, claim.Key(),
      absl::StrCat("Claim ", claim.pool_uid, ": generation ", claim.generation,
                   " was sent before with other returns or without release."));
}

}  // namespace muster::capacity::error
