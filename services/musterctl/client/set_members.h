#pragma once

#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "muster/capacity/v1/capacity_service.pb.h"
#include "services/musterctl/manifest/kinds.h"
#include "services/musterctl/manifest/resources.h"

// Finds which registered machines belong to a MachineSet. A registered machine keeps its name,
// whatever else is in the file now: when its id was chosen, ids of sets that are gone since may
// have been skipped.
namespace muster::musterctl {

struct SetMember {
  capacity::v1::Machine machine = {};  // as the set describes it, under its registered name
  std::optional<capacity::v1::Machine> known = {};  // as it is registered; nullopt: it is new
  bool is_moved = false;                            // it is registered in a rack of another set
};

// Api::ListMachines.
using MachineLister = absl::FunctionRef<absl::StatusOr<std::vector<Item>>(
    const capacity::v1::ListMachinesRequest& filter)>;

// The machines of a set, in the set's order. A new one gets a name that no other machine has.
absl::StatusOr<std::vector<SetMember>> FindMembers(const MachineSet& set, MachineLister list);

}  // namespace muster::musterctl
