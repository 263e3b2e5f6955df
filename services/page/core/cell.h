#pragma once

#include <muster/capacity/v1/capacity.pb.h>
#include <muster/lifecycle/v1/lifecycle.pb.h>

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::page {

// What a machine is doing, in one word, as the fleet map shows it.
enum class CellState : uint8_t {
  kFree,           // nobody holds it
  kHeld,           // a claim holds it, and it is no Node yet
  kAssigned,       // a Node that nothing was done with yet
  kBooting,        //
  kRegistered,     // joined its cluster, takes no work yet
  kProduction,     // takes work
  kReconfiguring,  // reboots into another profile
  kTriage,         // unhealthy, looked at
  kLeaving,        // cordoned, drained or switched off
  kReclaiming,     // taken from a spot pool
  kFailed,         // did not boot
  kInRepair,       //
  kRetired,        // gone for good
  kNodeless,       // in the past only: no Node; the machine's own state is not kept
};
inline constexpr CellState kAllCellStates[] = {
    CellState::kFree,       CellState::kHeld,       CellState::kAssigned,      CellState::kBooting,
    CellState::kRegistered, CellState::kProduction, CellState::kReconfiguring, CellState::kTriage,
    CellState::kLeaving,    CellState::kReclaiming, CellState::kFailed,        CellState::kInRepair,
    CellState::kRetired,    CellState::kNodeless};

// `in-repair`: what the page's scripts know the state by.
absl::string_view CellStateName(CellState state);

// Facts beside the state, as bits of one number. The page's scripts know them by these values.
enum CellFlag : uint32_t {
  kCellSpot = 1,       // held by a spot pool
  kCellActive = 2,     // has work
  kCellUnhealthy = 4,  //
  kCellChosen = 16,    // is to be reconfigure-rebooted
};

// What capacity knows of a machine. Strings are the numbers of words (words.h).
struct MachinePart {
  bool known = false;
  capacity::v1::Machine::State state = capacity::v1::Machine::STATE_UNSPECIFIED;
  bool spot = false;
  uint32_t zone = 0;
  uint32_t type = 0;
  uint32_t rack = 0;
  uint32_t fabric = 0;
  int32_t slot = 0;
  uint32_t claim = 0;  // the holder's pool uid
  bool operator==(const MachinePart&) const = default;
};

// What lifecycle knows of the machine's Node.
struct NodePart {
  bool known = false;
  lifecycle::v1::Node::State state = lifecycle::v1::Node::STATE_UNSPECIFIED;
  bool preempted = false;
  uint32_t pool = 0;     // resource name
  uint32_t profile = 0;  // booted into; 0: not booted yet
  uint32_t rack = 0;
  uint32_t flags = 0;
  bool operator==(const NodePart&) const = default;
};

CellState StateOf(const MachinePart& machine, const NodePart& node);

}  // namespace muster::page
