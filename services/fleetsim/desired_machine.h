#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/fleetsim/behaviour.h"
#include "services/fleetsim/hardware.h"

namespace muster::fleetsim {

// What is desired of a machine at the API server: of its v1 Node, and of our Pods on it.
struct DesiredMachine {
  enum class Power {
    kOff,        // nothing runs on it; the adapter removes its v1 Node
    kArriving,   // booted for the first time: its kubelet creates the v1 Node, once that of an
                 // earlier life is gone
    kRunning,    // its kubelet keeps the v1 Node there
    kRebooting,  // its kubelet is silent
  };
  enum class Change { kLeave, kBegin, kEnd };

  std::string machine = {};
  absl::Time create_time = absl::InfinitePast();  // of Muster's Node: tells a machine's lives apart
  std::string boot_id = {};                       // while the machine reboots: of the boot before
  std::string zone = {};
  std::string instance_type = {};
  Hardware hardware = {};  // of the type: see Catalogue
  Power power = Power::kOff;
  bool ready = false;
  std::string reason = {};  // of the condition Ready
  std::string message = {};
  Change work = Change::kLeave;
  Work new_work = {};            // for kBegin
  Change mark = Change::kLeave;  // the autoscaler's
  Change cordon = Change::kLeave;
  bool operator==(const DesiredMachine&) const = default;
};

// Whether no kubelet speaks for the machine, so that its Node's lease runs out.
bool IsSilent(const DesiredMachine& desired);

// What is desired of a machine, by its Node as Muster shows it and the actions that are `due`. Pure
// and level-triggered: an action stays due until the Node shows that it was done. Leaves `hardware`
// open.
DesiredMachine DesiredOf(const Life& life, const Work& work, const std::vector<Action>& due);

}  // namespace muster::fleetsim
