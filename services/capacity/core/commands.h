#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/capacity/core/rows.h"

// What callers ask for. The meaning of every field stands in muster/capacity/v1.
namespace muster::capacity {

struct UpdateZone {
  ZoneRow zone = {};
};

struct UpdateInstanceType {
  InstanceTypeRow instance_type = {};
};

struct RegisterMachines {
  std::vector<MachineRow> machines = {};  // state, times and claim are not read
};

struct SetMachineState {
  std::string id = {};
  MachineState state = MachineState::kFree;  // free, in repair or retired
};

// These remove something for good; `allow_missing`: OK where there is no such thing.
struct DeleteZone {
  std::string id = {};
  bool allow_missing = false;
};

struct DeleteInstanceType {
  std::string id = {};
  bool allow_missing = false;
};

struct DeleteMachine {
  std::string id = {};
  bool allow_missing = false;
};

enum class ReturnReason { kReleased, kBroken, kPreempted };

struct MachineReturn {
  std::string machine = {};
  ReturnReason reason = ReturnReason::kReleased;
  std::optional<absl::Time> grant_time = {};
};

struct SyncClaim {
  std::string pool_uid = {};
  int64_t generation = 0;
  std::string zone = {};
  std::string instance_type = {};
  ComputeClass compute_class = ComputeClass::kDefault;
  int64_t nodes = 0;
  std::vector<MachineReturn> returns = {};
  int32_t priority = 0;
  bool release = false;
  std::string pool = {};
  Affinity affinity = {};
  bool gang = false;
  std::string organization = {};
  int64_t wanted_nodes = 0;
  int64_t leaving_nodes = 0;
  std::string known_machines = {};
};

struct SyncClaims {
  std::vector<SyncClaim> claims = {};
};

// Time has passed: what gangs have kept for long enough goes to those behind them.
struct EndKeeps {};

}  // namespace muster::capacity
