#pragma once

// The reasons of errors by which code decides what to do next, for the factory that makes the error
// and for whoever goes by it. All reasons: muster.type.v1.ErrorReason.
namespace muster::error {

// Of the lane: a plan that came too late.
inline constexpr char kStaleLeader[] = "STALE_LEADER";
inline constexpr char kPlanOutdated[] = "PLAN_OUTDATED";
// Of the order of declarative requests.
inline constexpr char kGenerationTooOld[] = "GENERATION_TOO_OLD";
inline constexpr char kGenerationReused[] = "GENERATION_REUSED";
// Of whose a name or an id is.
inline constexpr char kUidMismatch[] = "UID_MISMATCH";
// Of what is kept of a pool.
inline constexpr char kPoolReleased[] = "POOL_RELEASED";
inline constexpr char kClaimHoldsMachines[] = "CLAIM_HOLDS_MACHINES";
inline constexpr char kTooManyOrders[] = "TOO_MANY_ORDERS";

}  // namespace muster::error
