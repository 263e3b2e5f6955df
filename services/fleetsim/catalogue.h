#pragma once

#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "muster/capacity/v1/capacity.pb.h"
#include "services/fleetsim/desired_machine.h"
#include "services/fleetsim/hardware.h"

namespace muster::fleetsim {

Hardware HardwareOf(const capacity::v1::InstanceType& type);

// The instance types as capacity last showed them, with the hardware of their machines. Nothing is
// made up: a machine of an unknown type waits until the type is known, unless it is to be off.
// Pure; not thread-safe.
class Catalogue {
 public:
  // Adds or changes a type. Machines that were completed before stay as they are.
  void Learn(const capacity::v1::InstanceType& type);
  // Returns the machines with their hardware: first those that waited and need not any more, then
  // of `machines`, in their order, those that need not wait. Of each machine only the last desire
  // waits.
  std::vector<DesiredMachine> Complete(std::vector<DesiredMachine> machines);
  bool is_waited_for() const { return !waiting_.empty(); }
  // Types that machines wait for.
  absl::btree_set<std::string> Missing() const;

 private:
  absl::btree_map<std::string, Hardware> types_;
  absl::btree_map<std::string, DesiredMachine> waiting_;  // by machine
};

}  // namespace muster::fleetsim
