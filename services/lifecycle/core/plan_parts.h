#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/lifecycle/core/plan_draft.h"
#include "services/lifecycle/core/victim_racks.h"

// The parts of a plan, by the file that has them. Plan (plan.cc) calls them in an order that it
// explains. Each reads the facts, and the draft as the parts before have left it. What a part looks
// for in Nodes stands in plan_quiet.cc too: it is not shown those about which there is nothing.
namespace muster::lifecycle {

// --- plan_rebase.cc: services that know more than the rows ---
void RaiseGenerations(const PlanFacts& facts, Draft& draft);

// --- plan_supply.cc: machines come and go back ---
// True: the pool's deletion is as good as done, there is nothing else to plan.
bool FinishDeletion(const PlanFacts& facts, Draft& draft);
// Nodes whose machine capacity has back.
void PurgeReturned(const PlanFacts& facts, Draft& draft);
// Machines that the claim holds and that have no Node.
void AssignGranted(const PlanFacts& facts, Draft& draft);
// Nodes whose machine stands in another rack than it did.
void MoveRacks(const PlanFacts& facts, Draft& draft);
// A rollback was ordered and takes effect once no Node is in delivery: what is active is being left.
// As far as is known, when configuration does not answer.
bool RollbackWaits(const PlanFacts& facts);
// Boots into a configuration that a rollback leaves and that may never end.
void AbortBrokenBoots(const PlanFacts& facts, Draft& draft);
struct BootTimeouts {
  std::vector<std::string> reboots = {};  // machines whose reconfigure reboot was given up
  int64_t late = 0;                       // Nodes that would be given up, were those not too many
};
// When a Node on its way up has booted or is given up at the latest; kNever: it was not told to boot, or is overdue and given up as
// soon as the limit of those allows.
absl::Time BootsUntil(const PlanFacts& facts, const Node& node);
BootTimeouts TimeOutBoots(const PlanFacts& facts, Draft& draft);
// Nodes that were assigned while no profile was known, or while they were too many.
void OrderBoots(const PlanFacts& facts, Draft& draft);
// What quota and capacity have agreed to; see demand.h for why in this order.
void UpdateAccount(const PlanFacts& facts, Draft& draft);

// --- plan_unheld.cc: Nodes whose machine the claim does not hold, and the reverse ---
// The machine is a Node of another pool.
void DeferTaken(const PlanFacts& facts, Draft& draft, const std::string& machine);
// PeerReplies how many would be given up, were those not too many.
int64_t LeaveUnheld(const PlanFacts& facts, Draft& draft);

// --- plan_removal.cc: scale-down, deletion, drains ---
// The racks as SelectRemovals sees them: it would send those away again who are let stay in one that leaves.
VictimRacks RacksOf(const PlanFacts& facts, const Draft& draft);
void CancelRemovals(const PlanFacts& facts, Draft& draft);
void StartRemovals(const PlanFacts& facts, Draft& draft);
// The first step of a Node's removal, which depends on how far it came.
void StartRemoval(Draft& draft, Node& node, RemovalCause cause, absl::string_view reason);
// A cordoned Node stays: in service, or in triage where it is ill or has yet to show that it stays healthy. False: not in this plan.
bool LetStay(const PlanFacts& facts, Draft& draft, Node& node, absl::string_view reason);
// Of a drain that began at `from` and is no preemption's; kNever: it has none.
absl::Time DrainDeadline(const PlanFacts& facts, const Node& node, absl::Time from);
void DrainNodes(const PlanFacts& facts, Draft& draft);

// --- plan_preemption.cc: spot ---
void PreemptNodes(const PlanFacts& facts, Draft& draft);
// Of a Node that drains for another cause.
void PreemptDrained(const PlanFacts& facts, Draft& draft, Node& node);

// --- plan_give_up.cc: how many Nodes are given up because time went by ---
// Nodes whose time is up and that stay, because too many were given up already.
struct LateNodes {
  int64_t boots = 0;
  int64_t repairs = 0;
  int64_t unheld = 0;
};
bool MayGiveUp(const PlanFacts& facts, const Draft& draft);
void CountGivenUp(const PlanFacts& facts, Draft& draft);
void DeferGivingUp(const PlanFacts& facts, Draft& draft, const LateNodes& nodes);

// --- plan_health.cc: triage, repair, replacements that come early ---
// It went to and fro, and at that time has yet to show that it stays healthy.
bool IsOnProbation(const PlanFacts& facts, const Node& node, absl::Time at);
// PeerReplies how many would be given up, were those not too many.
int64_t ReplaceUnhealthy(const PlanFacts& facts, Draft& draft);

// --- plan_reservation.cc: Nodes that an operator moves to the control plane ---
void ReserveNodes(const PlanFacts& facts, Draft& draft);

// --- plan_orders.cc: what was ordered of single Nodes ---
void FollowOrders(const PlanFacts& facts, Draft& draft);
// What a Node that was ordered to reboot is to boot; while a rollback waits: what it runs. Empty: none may boot, or its agent could not
// tell that it rebooted.
std::string ProfileToReboot(const PlanFacts& facts, const Node& node);

// --- plan_reconfigure.cc: the active configuration reaches running Nodes ---
void StageProfiles(const PlanFacts& facts, Draft& draft);
// A Node is chosen for a reboot, and with `drains` its work is moved away; let go again; rebooted.
void Choose(const PlanFacts& facts, Draft& draft, Node& node, bool drains, absl::string_view why);
void LetGo(Draft& draft, Node& node, absl::string_view why);
void RebootInto(const std::string& profile, Draft& draft, Node& node, absl::string_view why);
// `timed_out`: machines whose reboot this plan has given up.
void RebootOutdated(const PlanFacts& facts, Draft& draft,
                    const std::vector<std::string>& timed_out);

// --- plan_publish.cc: the status and the events of the pool ---
void RefreshAllMetadata(const PlanFacts& facts, Draft& draft);
// Promotes and rollbacks that were not told of yet; the account remembers which were.
void AnnounceOrders(const PlanFacts& facts, Draft& draft);
void Publish(const PlanFacts& facts, Draft& draft);

}  // namespace muster::lifecycle
