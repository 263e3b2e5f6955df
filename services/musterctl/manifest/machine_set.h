#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "muster/capacity/v1/capacity.pb.h"

namespace muster::musterctl {

// Machines a rack where a set does not say how many racks it has.
inline constexpr int kMachinesARack = 8;
inline constexpr int64_t kMaxMachinesASet = 1'000'000;

struct MachineSetSpec {
  std::string prefix = {};  // the set's name
  std::string zone = {};
  std::string instance_type = {};
  std::string fabric = {};
  int64_t count = 0;
  int64_t racks = 0;  // 0: kMachinesARack a rack
};

// The machines of a set, always the same for the same spec: ids are `g` and six hex digits of a
// hash of prefix and index, so that a larger count only adds machines. `used` holds the ids that
// are taken and gets the new ones; one that is taken is passed over.
std::vector<capacity::v1::Machine> Expand(const MachineSetSpec& spec,
                                          absl::flat_hash_set<std::string>& used);

}  // namespace muster::musterctl
