#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "services/capacity/core/rows.h"

namespace muster::capacity {

// What can happen to a machine.
enum class MachineEvent {
  kGranted,
  kReclaimed,
  kReclaimCancelled,
  kGivenBack,
  kBroken,
  kTakenOut,
  kRepaired,
  kRetired
};

// The life of a machine. Whatever is not drawn is illegal; an event that changes nothing (taking
// out what is in repair, repairing what is free, retiring what is retired) leads to the same state.
//
//    registered
//        |           granted               reclaimed
//        v      ---------------->          ------------->
//      FREE                        [ HELD                  RECLAIMING ]
//      |  ^     <----------------          <-------------     |
//      |  |         given back           reclaim cancelled    | broken
//      |  | repaired                                          |
//      |  +------------ IN_REPAIR <---------------------------+
//      |    taken out  ^  |
//      +---------------+  | retired
//      | retired          v
//      +-------------> RETIRED
//
// The two states in brackets are given back, and break, in the same way. nullopt: illegal.
std::optional<MachineState> Next(MachineState state, MachineEvent event);

// Free, or held by anyone.
bool InService(MachineState state);

// `FREE`, `HELD`, ...: as in the API without its prefix.
absl::string_view NameOf(MachineState state);

}  // namespace muster::capacity
