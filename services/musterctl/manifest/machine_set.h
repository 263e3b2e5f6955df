#pragma once

#include <cstdint>
#include <optional>
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

// The machines of a set by their index. Ids are `g` and six hex digits of a hash of prefix and index,
// so that a larger count only adds machines. `used` holds the ids that are taken and gets the new
// ones; one that is taken is passed over, so an id may change with what else is in the file: what a
// machine that is registered is called client/set_members.h says.
std::vector<capacity::v1::Machine> Expand(const MachineSetSpec& spec,
                                          absl::flat_hash_set<std::string>& used);

// The id of a machine for which so many were taken already.
std::string MachineId(absl::string_view prefix, int64_t index, int attempt);
// Of a million machines less than 20 have one after so many.
inline constexpr int kAttempts = 4;
// Whether the name (`machines/...`) has one of its first ids.
bool IsNameOf(absl::string_view name, absl::string_view prefix, int64_t index);

// A rack as a set calls it: `a-r017`.
struct SetRack {
  absl::string_view prefix = {};
  int64_t number = 0;
};
// nullopt: no set calls a rack so.
std::optional<SetRack> ParseRack(absl::string_view rack);

// Whether the set that its rack is called after expands to it at its place, however many racks the set has.
bool IsOfItsRack(const capacity::v1::Machine& machine);

}  // namespace muster::musterctl
