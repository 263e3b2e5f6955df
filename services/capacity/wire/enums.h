#pragma once

#include <muster/capacity/v1/capacity_service.pb.h>

#include <optional>

#include "services/capacity/core/commands.h"
#include "services/capacity/core/view.h"

// The enums of the wire; nullopt for a value that is unspecified or unknown. For this folder only.
namespace muster::capacity::wire {

using ProtoClass = type::v1::ComputeClass;

inline v1::Zone::Access ToProto(ZoneAccess access) {
  switch (access) {
    case ZoneAccess::kGeneral:
      return v1::Zone::ACCESS_GENERAL;
    case ZoneAccess::kDedicated:
      return v1::Zone::ACCESS_DEDICATED;
  }
  return v1::Zone::ACCESS_UNSPECIFIED;
}

inline std::optional<ZoneAccess> AccessOf(int access) {
  if (access == v1::Zone::ACCESS_GENERAL) return ZoneAccess::kGeneral;
  if (access == v1::Zone::ACCESS_DEDICATED) return ZoneAccess::kDedicated;
  return std::nullopt;
}

inline v1::Machine::State ToProto(MachineState state) {
  switch (state) {
    case MachineState::kFree:
      return v1::Machine::STATE_FREE;
    case MachineState::kHeld:
      return v1::Machine::STATE_HELD;
    case MachineState::kReclaiming:
      return v1::Machine::STATE_RECLAIMING;
    case MachineState::kInRepair:
      return v1::Machine::STATE_IN_REPAIR;
    case MachineState::kRetired:
      return v1::Machine::STATE_RETIRED;
  }
  return v1::Machine::STATE_UNSPECIFIED;
}

inline std::optional<MachineState> StateOf(int state) {
  for (const MachineState known :
       {MachineState::kFree, MachineState::kHeld, MachineState::kReclaiming,
        MachineState::kInRepair, MachineState::kRetired}) {
    if (ToProto(known) == state) return known;
  }
  return std::nullopt;
}

inline ProtoClass ToProto(ComputeClass compute_class) {
  switch (compute_class) {
    case ComputeClass::kDefault:
      return type::v1::COMPUTE_CLASS_DEFAULT;
    case ComputeClass::kSpot:
      return type::v1::COMPUTE_CLASS_SPOT;
  }
  return type::v1::COMPUTE_CLASS_UNSPECIFIED;
}

inline std::optional<ComputeClass> ClassOf(int compute_class) {
  if (compute_class == type::v1::COMPUTE_CLASS_DEFAULT) return ComputeClass::kDefault;
  if (compute_class == type::v1::COMPUTE_CLASS_SPOT) return ComputeClass::kSpot;
  return std::nullopt;
}

inline v1::AffinityExpression::Operator ToProto(AffinityOperator op) {
  switch (op) {
    case AffinityOperator::kIn:
      return v1::AffinityExpression::OPERATOR_IN;
    case AffinityOperator::kNotIn:
      return v1::AffinityExpression::OPERATOR_NOT_IN;
    case AffinityOperator::kExists:
      return v1::AffinityExpression::OPERATOR_EXISTS;
    case AffinityOperator::kDoesNotExist:
      return v1::AffinityExpression::OPERATOR_DOES_NOT_EXIST;
  }
  return v1::AffinityExpression::OPERATOR_UNSPECIFIED;
}

inline std::optional<AffinityOperator> OperatorOf(int op) {
  for (const AffinityOperator known :
       {AffinityOperator::kIn, AffinityOperator::kNotIn, AffinityOperator::kExists,
        AffinityOperator::kDoesNotExist}) {
    if (ToProto(known) == op) return known;
  }
  return std::nullopt;
}

inline std::optional<ReturnReason> ReturnReasonOf(int reason) {
  if (reason == v1::MachineReturn::REASON_RELEASED) return ReturnReason::kReleased;
  if (reason == v1::MachineReturn::REASON_BROKEN) return ReturnReason::kBroken;
  if (reason == v1::MachineReturn::REASON_PREEMPTED) return ReturnReason::kPreempted;
  return std::nullopt;
}

inline v1::Claim::Reason ToProto(ClaimReason reason) {
  switch (reason) {
    case ClaimReason::kSufficient:
      return v1::Claim::REASON_SUFFICIENT;
    case ClaimReason::kQueued:
      return v1::Claim::REASON_QUEUED;
    case ClaimReason::kPartial:
      return v1::Claim::REASON_PARTIAL;
    case ClaimReason::kNoneAvailable:
      return v1::Claim::REASON_NONE_AVAILABLE;
    case ClaimReason::kUnknownInstanceType:
      return v1::Claim::REASON_UNKNOWN_INSTANCE_TYPE;
    case ClaimReason::kNotInZone:
      return v1::Claim::REASON_NOT_IN_ZONE;
    case ClaimReason::kPartialNodeAffinity:
      return v1::Claim::REASON_PARTIAL_NODE_AFFINITY;
    case ClaimReason::kNoneAvailableNodeAffinity:
      return v1::Claim::REASON_NONE_AVAILABLE_NODE_AFFINITY;
  }
  return v1::Claim::REASON_UNSPECIFIED;
}

}  // namespace muster::capacity::wire
