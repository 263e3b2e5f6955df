#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/capacity/core/commands.h"
#include "services/capacity/core/state.h"

// Spot machines go back to those of class default who are short (semantics.md 5). A machine that is
// reclaimed stays with its spot claim until that gives it back; it is earmarked for the claim that
// is short.
namespace muster::capacity {

// Once the free machines are given away:
//  * Machines that a claim has earmarked beyond what it still misses are let go, those reclaimed
//  last first.
//  * Every default claim that is short, in the order of the queue, gets as many earmarked as it
//  misses: first those being reclaimed for nobody, oldest first, then newly chosen ones
//  (victims.h); all of an affinity that it matches. A gang misses what is not kept for it, and
//  reclaims only if that completes it.
//  * What is then being reclaimed for nobody is held again if kSpotNotice is not over, and keeps
//  its state_time; else it goes back all the same and will be free.
// Every reclaim, and every one taken back, adds one to the spot claim's reclaim_generation. Costs
// O(1) when the depot has no spot machine; else O(lines × label classes), the machines that change,
// and the gangs that cannot be completed.
void Reclaim(Overlay<State>& overlay, const DepotKey& key, absl::Time now);

// By claim, those of the machines which `command` gives back (not as broken) that go straight to
// the claim they are earmarked for: it waits, may have them, and, if it is a gang, is complete with
// them.
std::map<std::string, std::vector<std::string>> FindHandovers(const State& state,
                                                              const SyncClaim& command);

// Whether the claim that the machine is earmarked for, if any, still takes it.
bool EarmarkHolds(const State& state, const MachineRow& machine);

// After the claim's affinity changed: machines that it takes no more are reclaimed for nobody.
void DropStaleEarmarks(Overlay<State>& overlay, const ClaimRow& claim);

}  // namespace muster::capacity
