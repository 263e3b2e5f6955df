#pragma once

#include <muster/capacity/v1/capacity_service.pb.h>

#include <optional>

#include "services/capacity/core/commands.h"
#include "services/capacity/core/explain.h"
#include "services/capacity/core/finder.h"
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

inline v1::ClaimObstacle::Code ToProto(ObstacleCode code) {
  switch (code) {
    case ObstacleCode::kUnknownInstanceType:
      return v1::ClaimObstacle::CODE_UNKNOWN_INSTANCE_TYPE;
    case ObstacleCode::kNotInZone:
      return v1::ClaimObstacle::CODE_NOT_IN_ZONE;
    case ObstacleCode::kSpotNotOffered:
      return v1::ClaimObstacle::CODE_SPOT_NOT_OFFERED;
    case ObstacleCode::kNoneInService:
      return v1::ClaimObstacle::CODE_NONE_IN_SERVICE;
    case ObstacleCode::kAffinityMatchesNone:
      return v1::ClaimObstacle::CODE_AFFINITY_MATCHES_NONE;
    case ObstacleCode::kAffinityMatchesFewer:
      return v1::ClaimObstacle::CODE_AFFINITY_MATCHES_FEWER;
    case ObstacleCode::kFewerInService:
      return v1::ClaimObstacle::CODE_FEWER_IN_SERVICE;
    case ObstacleCode::kQueuedBehind:
      return v1::ClaimObstacle::CODE_QUEUED_BEHIND;
    case ObstacleCode::kGangIncomplete:
      return v1::ClaimObstacle::CODE_GANG_INCOMPLETE;
    case ObstacleCode::kKeptForGang:
      return v1::ClaimObstacle::CODE_KEPT_FOR_GANG;
    case ObstacleCode::kNoWholeRack:
      return v1::ClaimObstacle::CODE_NO_WHOLE_RACK;
    case ObstacleCode::kBeingReclaimed:
      return v1::ClaimObstacle::CODE_BEING_RECLAIMED;
    case ObstacleCode::kHeldByOthers:
      return v1::ClaimObstacle::CODE_HELD_BY_OTHERS;
    case ObstacleCode::kInRepair:
      return v1::ClaimObstacle::CODE_IN_REPAIR;
  }
  return v1::ClaimObstacle::CODE_UNSPECIFIED;
}

inline v1::Availability ToProto(Availability availability) {
  switch (availability) {
    case Availability::kLikely:
      return v1::AVAILABILITY_LIKELY;
    case Availability::kPossibly:
      return v1::AVAILABILITY_POSSIBLY;
    case Availability::kLimited:
      return v1::AVAILABILITY_LIMITED;
    case Availability::kNotAvailable:
      return v1::AVAILABILITY_NOT_AVAILABLE;
    case Availability::kSkuUnavailable:
      return v1::AVAILABILITY_SKU_UNAVAILABLE;
  }
  return v1::AVAILABILITY_UNSPECIFIED;
}

}  // namespace muster::capacity::wire
