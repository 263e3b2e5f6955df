#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/capacity/core/state.h"

namespace muster::capacity {

// Which machines to list; a field that is empty or not set matches all.
struct MachineFilter {
  std::string zone = {};
  std::string instance_type = {};
  std::string claim = {};
  std::optional<MachineState> state = {};
  std::optional<std::set<std::string, std::less<>>> zones = {};  // these alone; not set: all
};

bool Matches(const MachineFilter& filter, const MachineRow& machine);

// The first `limit` machines that match, in order of id, after `after` ("": from the start). The
// pointers live as long as the state is not changed. Looks at no others, but for machines of the
// claim if there is one.
std::vector<const MachineRow*> ListMachines(const State& state, const MachineFilter& filter,
                                            absl::string_view after, size_t limit);

}  // namespace muster::capacity
