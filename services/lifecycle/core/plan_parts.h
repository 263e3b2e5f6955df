#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/lifecycle/core/plan_draft.h"
#include "services/lifecycle/core/victim_racks.h"

// The parts of a plan, by the file that has them. Plan (plan.cc) calls them in an order that it
// explains. Each reads the facts, and the draft as the parts before have left it. Parts see only
// the Nodes that are not quiet: what a part looks for in a Node must stand in plan_quiet.cc, too.
namespace muster::lifecycle {

// --- plan_rebase.cc: services that know more than the rows ---
void RaiseGenerations(const PlanFacts& facts, Draft& draft);

// --- plan_supply.cc: machines come and go back ---
// Removes the pool's row once every service has released it. True: the pool is being deleted and
// only waits for that, so nothing else is to be planned.
bool FinishDeletion(const PlanFacts& facts, Draft& draft);
// Deletes the rows of Nodes whose machine capacity has taken back.
void PurgeReturned(const PlanFacts& facts, Draft& draft);
// Makes Nodes of the machines that the claim holds and that have none.
void AssignGranted(const PlanFacts& facts, Draft& draft);
// Writes the new rack on Nodes whose machine was moved to another one.
void MoveRacks(const PlanFacts& facts, Draft& draft);
// Writes the grant on Nodes that have their machine by another one, as after a restore.
void RenewGrants(const PlanFacts& facts, Draft& draft);
// True when a rollback was ordered and waits until no Node is in delivery: the active configuration
// is about to be left. While configuration does not answer, its last answer counts.
bool RollbackWaits(const PlanFacts& facts);
// Ends boots into a configuration that a rollback leaves, where they may never end by themselves.
void AbortBrokenBoots(const PlanFacts& facts, Draft& draft);
struct BootTimeouts {
  std::vector<std::string> reboots = {};  // machines whose reconfigure reboot was given up
  int64_t late = 0;                       // Nodes that would be given up, were those not too many
};
// By when a Node on its way up has booted or is given up; kNever: it was not told to boot, or it is
// overdue and only waits for the give-up limit (plan_give_up.cc).
absl::Time BootsUntil(const PlanFacts& facts, const Node& node);
BootTimeouts TimeOutBoots(const PlanFacts& facts, Draft& draft);
// Tells Nodes to boot that were assigned while no profile was known, another configuration waited
// or the pool had too many Nodes.
void OrderBoots(const PlanFacts& facts, Draft& draft);
// Keeps what quota and capacity have agreed to; demand.h says why in this order.
void UpdateAccount(const PlanFacts& facts, Draft& draft);

// --- plan_unheld.cc: Nodes whose machine the claim does not hold, and the reverse ---
// Defers the assignment of a machine that is still a Node of another pool.
void DeferTaken(const PlanFacts& facts, Draft& draft, const std::string& machine);
// Removes Nodes whose machine the claim does not hold, after a grace. Returns how many of them stay
// only because of the give-up limit.
int64_t LeaveUnheld(const PlanFacts& facts, Draft& draft);

// --- plan_removal.cc: scale-down, deletion, drains --- The racks as SelectRemovals sees them. Who
// lets a Node stay must use the same: SelectRemovals would choose it again if its rack leaves.
VictimRacks RacksOf(const PlanFacts& facts, const Draft& draft);
void CancelRemovals(const PlanFacts& facts, Draft& draft);
void StartRemovals(const PlanFacts& facts, Draft& draft);
// Takes the first step of a Node's removal: which one depends on how far the Node has come.
void StartRemoval(Draft& draft, Node& node, RemovalCause cause, absl::string_view reason);
// Takes a cordoned Node back into service, or into triage if it is unhealthy or on probation.
// False: its state does not allow it, and nothing is done.
bool LetStay(const PlanFacts& facts, Draft& draft, Node& node, absl::string_view reason);
// The deadline of a drain that begins at `from` and is not a preemption's; kNever: none.
absl::Time DrainDeadline(const PlanFacts& facts, const Node& node, absl::Time from);
void DrainNodes(const PlanFacts& facts, Draft& draft);
// From when on no work can be on its way any more to a Node that was told at `told` to be cordoned:
// some time after its agent reported the cordon, else after the time that a silent agent is waited
// for. While that one is late the plan tells so (AGENT_SILENT).
absl::Time CordonIsEffectiveFrom(const PlanFacts& facts, Draft& draft, const Node& node,
                                 absl::Time told);

// --- plan_preemption.cc: spot ---
void PreemptNodes(const PlanFacts& facts, Draft& draft);
// For a Node that was draining for another cause when its preemption began: restarts the drain as
// the preemption's once the notice is over.
void PreemptDrained(const PlanFacts& facts, Draft& draft, Node& node);

// --- plan_give_up.cc: how many Nodes are given up because time went by ---
// How many Nodes are overdue and stay, because too many were given up already.
struct LateNodes {
  int64_t boots = 0;
  int64_t repairs = 0;
  int64_t unheld = 0;
};
bool MayGiveUp(const PlanFacts& facts, const Draft& draft);
void CountGivenUp(const PlanFacts& facts, Draft& draft);
void DeferGivingUp(const PlanFacts& facts, Draft& draft, const LateNodes& nodes);

// --- plan_health.cc: triage, repair, replacements that come early ---
// True when the Node has relapsed and at that time has not been healthy for long enough.
bool IsOnProbation(const PlanFacts& facts, const Node& node, absl::Time at);
// Returns how many Nodes would be replaced now and stay only because of the give-up limit.
int64_t ReplaceUnhealthy(const PlanFacts& facts, Draft& draft);

// --- plan_reservation.cc: Nodes that an operator moves to the control plane ---
void ReserveNodes(const PlanFacts& facts, Draft& draft);

// --- plan_orders.cc: what was ordered of single Nodes ---
void FollowOrders(const PlanFacts& facts, Draft& draft);
// The profile that a Node which was ordered to reboot is to boot: the active one, or the one it
// runs while a rollback waits or the active one may not boot. Empty: neither may boot, or the Node
// would boot what it runs and its agent does not tell one boot from another.
std::string ProfileToReboot(const PlanFacts& facts, const Node& node);

// --- plan_reconfigure.cc: the active configuration reaches running Nodes --- True when some
// configuration waits, until no Node is in delivery, to become active. While configuration does not
// answer, its last answer counts.
bool AnyWaits(const PlanFacts& facts);
void StageProfiles(const PlanFacts& facts, Draft& draft);
// Marks the Node for a reboot; `drains`: its work is moved away.
void MarkForReboot(const PlanFacts& facts, Draft& draft, Node& node, bool drains,
                   absl::string_view why);
// Takes the mark back.
void UnmarkForReboot(Draft& draft, Node& node, absl::string_view why);
// Reboots the Node now.
void RebootInto(const std::string& profile, Draft& draft, Node& node, absl::string_view why);
// Reboots a marked Node that is idle, once no work can be on its way to it (CordonIsEffectiveFrom).
void RebootIdle(const PlanFacts& facts, Draft& draft, Node& node, const std::string& profile);
// `timed_out`: machines whose reboot this plan has given up.
void RebootOutdated(const PlanFacts& facts, Draft& draft,
                    const std::vector<std::string>& timed_out);

// --- plan_publish.cc: the status and the events of the pool ---
void RefreshAllMetadata(const PlanFacts& facts, Draft& draft);
// Promotes and rollbacks that were not told of yet; the account remembers which were.
void AnnounceOrders(const PlanFacts& facts, Draft& draft);
void Publish(const PlanFacts& facts, Draft& draft);

}  // namespace muster::lifecycle
