#pragma once

#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "muster/capacity/v1/capacity_service.pb.h"
#include "services/musterctl/manifest/kinds.h"
#include "services/musterctl/manifest/resources.h"

// Which machines that are registered are those of a MachineSet. What is registered keeps its name,
// whatever else is in the file now: its id may have passed over those of sets that are there no more.
namespace muster::musterctl {

struct SetMember {
  capacity::v1::Machine machine = {};  // as the set has it, under the name that it bears
  std::optional<capacity::v1::Machine> known = {};  // as it is registered; nullopt: it is new
  bool is_moved = false;  // somebody said that it stands in a rack of another set
};

// Api::ListMachines.
using MachineLister = absl::FunctionRef<absl::StatusOr<std::vector<Item>>(
    const capacity::v1::ListMachinesRequest& filter)>;

// The machines of a set in its order. A new one has a name that no other machine bears.
absl::StatusOr<std::vector<SetMember>> FindMembers(const MachineSet& set, MachineLister list);

}  // namespace muster::musterctl
