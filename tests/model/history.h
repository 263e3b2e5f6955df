#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/capacity/core/commands.h"

namespace muster::model {

// Gives back the nth of the machines that the claim holds then, those being reclaimed first.
struct Return {
  size_t nth = 0;
  capacity::ReturnReason reason = capacity::ReturnReason::kReleased;
};

// What a pool asks for. Its uid and generation follow from what came before: after a release it is
// another pool.
struct Ask {
  std::string pool = {};
  bool release = false;  // gives all back
  bool repeat = false;   // the last request once more
  bool rest = false;     // gets nothing by it: it only gives back
  capacity::SyncClaim wanted = {};
  std::vector<Return> returns = {};
};

enum class StepKind { kRegister, kSetState, kSetOffer, kSync, kRestart };

// One step. It makes sense after any other steps, so that a history can be shortened.
struct Step {
  StepKind kind = StepKind::kRestart;
  absl::Duration wait = {};                         // before it
  std::vector<capacity::MachineRow> machines = {};  // kRegister
  capacity::SetMachineState state = {};             // kSetState
  bool offered = true;                              // kSetOffer
  bool general = true;                              // kSetOffer
  std::vector<Ask> asks = {};                       // kSync: one call
};

struct History {
  int32_t nodes_per_rack = 0;
  std::vector<Step> steps = {};
};

// A history that follows from the seed alone.
History RandomHistory(uint32_t seed);

// One line.
std::string Print(const Step& step);

}  // namespace muster::model
