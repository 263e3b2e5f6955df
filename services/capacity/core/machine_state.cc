#include "services/capacity/core/machine_state.h"

namespace muster::capacity {
namespace {

using enum MachineState;

struct Edge {
  MachineState from = kFree;
  MachineEvent event = MachineEvent::kGranted;
  MachineState to = kFree;
};

constexpr Edge kEdges[] = {
    {kFree, MachineEvent::kGranted, kHeld},
    {kFree, MachineEvent::kTakenOut, kInRepair},
    {kFree, MachineEvent::kRepaired, kFree},
    {kFree, MachineEvent::kRetired, kRetired},
    {kHeld, MachineEvent::kReclaimed, kReclaiming},
    {kReclaiming, MachineEvent::kReclaimCancelled, kHeld},
    {kHeld, MachineEvent::kGivenBack, kFree},
    {kHeld, MachineEvent::kBroken, kInRepair},
    {kReclaiming, MachineEvent::kGivenBack, kFree},
    {kReclaiming, MachineEvent::kBroken, kInRepair},
    {kInRepair, MachineEvent::kTakenOut, kInRepair},
    {kInRepair, MachineEvent::kRepaired, kFree},
    {kInRepair, MachineEvent::kRetired, kRetired},
    {kRetired, MachineEvent::kRetired, kRetired},
};

}  // namespace

std::optional<MachineState> Next(MachineState state, MachineEvent event) {
  for (const Edge& edge : kEdges) {
    if (edge.from == state && edge.event == event) return edge.to;
  }
  return std::nullopt;
}

bool InService(MachineState state) {
  return state == kFree || state == kHeld || state == kReclaiming;
}

absl::string_view NameOf(MachineState state) {
  switch (state) {
    case kFree:
      return "FREE";
    case kHeld:
      return "HELD";
    case kReclaiming:
      return "RECLAIMING";
    case kInRepair:
      return "IN_REPAIR";
    case kRetired:
      return "RETIRED";
  }
  return "";
}

}  // namespace muster::capacity
