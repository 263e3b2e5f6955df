#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "muster/capacity/v1/capacity.pb.h"

namespace muster::musterctl {

// Machines per rack of a set that does not say how many racks it has.
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

// The machines of a set, in order of their index. An id is `g` and six hex digits of a hash of
// prefix and index, so that a larger count only adds machines. `used` has the ids that are taken,
// and gets the new ones. A taken id is skipped, so an id may depend on what else is in the file;
// client/set_members.h finds the names of machines that are registered already.
std::vector<capacity::v1::Machine> Expand(const MachineSetSpec& spec,
                                          absl::flat_hash_set<std::string>& used);

// The id of a machine after `attempt` earlier ones were taken already.
std::string MachineId(absl::string_view prefix, int64_t index, int attempt);
// Ids that are tried when a machine is looked for: of a million machines less than 20 need more.
inline constexpr int kAttempts = 4;
// Whether the name (`machines/...`) has one of the first kAttempts ids of the set's machine
// `index`.
bool IsNameOf(absl::string_view name, absl::string_view prefix, int64_t index);

// The name of a set's rack, e.g. `a-r017`, in its parts.
struct SetRack {
  absl::string_view prefix = {};
  int64_t number = 0;
};
// nullopt: it is not the name of a set's rack.
std::optional<SetRack> ParseRack(absl::string_view rack);

// Whether the set whose name the machine's rack has would put this machine at its rack and slot,
// for any number of racks.
bool IsOfItsRack(const capacity::v1::Machine& machine);

}  // namespace muster::musterctl
