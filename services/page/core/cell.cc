#include "services/page/core/cell.h"

namespace muster::page {
namespace {

using capacity::v1::Machine;
using lifecycle::v1::Node;

CellState StateOfNode(const NodePart& node) {
  switch (node.state) {
    case Node::STATE_ASSIGNED:
      return CellState::kAssigned;
    case Node::STATE_BOOTING:
      return CellState::kBooting;
    case Node::STATE_REGISTERED:
      return CellState::kRegistered;
    case Node::STATE_PRODUCTION:
      return CellState::kProduction;
    case Node::STATE_RECONFIGURING:
      return CellState::kReconfiguring;
    case Node::STATE_TRIAGE:
      return CellState::kTriage;
    case Node::STATE_CORDONED:
    case Node::STATE_DRAINING:
    case Node::STATE_PREPARED_FOR_TERMINATE:
    case Node::STATE_DELETED:
      return CellState::kLeaving;
    case Node::STATE_DELIVERY_FAILED:
      return CellState::kFailed;
    default:  // not said, or a newer server's
      return CellState::kHeld;
  }
}

CellState StateOfMachine(const MachinePart& machine) {
  switch (machine.state) {
    case Machine::STATE_FREE:
      return CellState::kFree;
    case Machine::STATE_RECLAIMING:
      return CellState::kReclaiming;
    case Machine::STATE_IN_REPAIR:
      return CellState::kInRepair;
    case Machine::STATE_RETIRED:
      return CellState::kRetired;
    case Machine::STATE_UNSPECIFIED:
      return CellState::kNodeless;
    default:  // held, or a newer server's
      return CellState::kHeld;
  }
}

}  // namespace

absl::string_view CellStateName(CellState state) {
  switch (state) {
    case CellState::kFree:
      return "free";
    case CellState::kHeld:
      return "held";
    case CellState::kAssigned:
      return "assigned";
    case CellState::kBooting:
      return "booting";
    case CellState::kRegistered:
      return "registered";
    case CellState::kProduction:
      return "production";
    case CellState::kReconfiguring:
      return "reconfiguring";
    case CellState::kTriage:
      return "triage";
    case CellState::kLeaving:
      return "leaving";
    case CellState::kReclaiming:
      return "reclaiming";
    case CellState::kFailed:
      return "failed";
    case CellState::kInRepair:
      return "in-repair";
    case CellState::kRetired:
      return "retired";
    case CellState::kNodeless:
      return "nodeless";
  }
  return "";
}

CellState StateOf(const MachinePart& machine, const NodePart& node) {
  if (!node.known) return StateOfMachine(machine);
  const bool reclaimed = machine.known && machine.state == Machine::STATE_RECLAIMING;
  return reclaimed || node.preempted ? CellState::kReclaiming : StateOfNode(node);
}

}  // namespace muster::page
