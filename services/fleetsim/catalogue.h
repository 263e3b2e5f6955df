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

// The instance types as capacity last showed them: what the machines of each have. Nothing is made
// up: a machine of a type that is not known yet waits for it, switched off ones apart. Pure; not
// thread-safe.
class Catalogue {
 public:
  // From now on; what was completed before stays as it is.
  void Learn(const capacity::v1::InstanceType& type);
  // The machines with their hardware, in their order, and those that waited and need not any more.
  // Of a machine only what is desired last waits.
  std::vector<DesiredMachine> Complete(std::vector<DesiredMachine> machines);
  bool is_waited_for() const { return !waiting_.empty(); }
  // Types that machines wait for.
  absl::btree_set<std::string> Missing() const;

 private:
  absl::btree_map<std::string, Hardware> types_;
  absl::btree_map<std::string, DesiredMachine> waiting_;  // by machine
};

}  // namespace muster::fleetsim
