#include "services/lifecycle/reconcile/machine_mirror_wire.h"

#include <map>
#include <string>

#include "absl/hash/hash.h"

namespace muster::lifecycle {
namespace {

namespace cv1 = capacity::v1;

MachineMirror::Use UseOf(const cv1::Machine& machine) {
  using Use = MachineMirror::Use;
  const bool spot = machine.compute_class() == type::v1::COMPUTE_CLASS_SPOT;
  switch (static_cast<int>(machine.state())) {
    case cv1::Machine::STATE_FREE:
      return Use::kFree;
    case cv1::Machine::STATE_HELD:
      return spot ? Use::kLent : Use::kHeld;
    case cv1::Machine::STATE_RECLAIMING:
      return Use::kReclaimed;
  }
  return Use::kNone;  // out of service, or a state that only a newer capacity service knows
}

}  // namespace

MachineMirror::Machine MirroredMachine(const cv1::Machine& machine) {
  MachineMirror::Machine mirrored{machine.zone(), machine.instance_type()};
  if (machine.state() != cv1::Machine::STATE_RETIRED) {
    const std::map<std::string, std::string> labels(machine.labels().begin(),
                                                    machine.labels().end());
    mirrored.print = absl::HashOf(labels, machine.state() == cv1::Machine::STATE_IN_REPAIR) | 1;
  }
  mirrored.use = UseOf(machine);
  mirrored.claim = machine.claim();
  return mirrored;
}

}  // namespace muster::lifecycle
