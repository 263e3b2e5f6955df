#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/capacity/v1/capacity.pb.h"

namespace muster::fleetsim {

// Machines of one kind to register.
struct MachineLot {
  std::string zone = {};
  std::string instance_type = {};
  int64_t count = 0;
  int64_t rack_size = 0;  // machines a rack
};

// Enough for a fleet of 1,000,000 Nodes and what it may lose.
inline constexpr int64_t kMaxMachines = 2'000'000;
inline constexpr int64_t kRackSize = 8;

// `ZONE:TYPE:COUNT[:MACHINES A RACK]`, several separated by commas. Empty text: none.
// INVALID_ARGUMENT naming the part.
absl::StatusOr<std::vector<MachineLot>> ParseLots(absl::string_view text);

// The machines, always the same for the same seed and lots: ids are `g` and six hex digits, no two
// alike.
std::vector<capacity::v1::Machine> MakeMachines(const std::vector<MachineLot>& lots, uint64_t seed);

}  // namespace muster::fleetsim
