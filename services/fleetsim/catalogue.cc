#include "services/fleetsim/catalogue.h"

#include <utility>

#include "absl/strings/strip.h"

namespace muster::fleetsim {

Hardware HardwareOf(const capacity::v1::InstanceType& type) {
  return {.cpus = type.vcpus(),
          .memory_kib = type.memory_kib(),
          .storage_kib = type.ephemeral_storage_kib(),
          .gpus = type.gpus(),
          .pods = type.max_pods(),
          .architecture = type.architecture()};
}

void Catalogue::Learn(const capacity::v1::InstanceType& type) {
  types_[std::string(absl::StripPrefix(type.name(), "instanceTypes/"))] = HardwareOf(type);
}

std::vector<DesiredMachine> Catalogue::Complete(std::vector<DesiredMachine> machines) {
  std::vector<DesiredMachine> complete;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const auto type = types_.find(it->second.instance_type);
    if (type == types_.end()) {
      ++it;
      continue;
    }
    it->second.hardware = type->second;
    complete.push_back(std::move(it->second));
    it = waiting_.erase(it);
  }
  for (DesiredMachine& desired : machines) {
    const auto type = types_.find(desired.instance_type);
    if (type != types_.end()) desired.hardware = type->second;
    const auto waits = waiting_.find(desired.machine);
    // The end of a machine's earlier life does not end the waiting of its next one.
    const bool overtakes =
        waits == waiting_.end() || desired.create_time >= waits->second.create_time;
    if (type != types_.end() || desired.power == DesiredMachine::Power::kOff) {
      if (overtakes) waiting_.erase(desired.machine);
      complete.push_back(std::move(desired));
    } else if (overtakes) {
      waiting_[desired.machine] = std::move(desired);
    }
  }
  return complete;
}

absl::btree_set<std::string> Catalogue::Missing() const {
  absl::btree_set<std::string> types;
  for (const auto& [machine, desired] : waiting_) types.insert(desired.instance_type);
  return types;
}

}  // namespace muster::fleetsim
