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

std::vector<Wish> Catalogue::Complete(std::vector<Wish> wishes) {
  std::vector<Wish> complete;
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
  for (Wish& wish : wishes) {
    const auto type = types_.find(wish.instance_type);
    if (type != types_.end()) wish.hardware = type->second;
    const auto waits = waiting_.find(wish.machine);
    // What ends an earlier life of the machine leaves the next one waiting.
    const bool overtakes = waits == waiting_.end() || wish.create_time >= waits->second.create_time;
    if (type != types_.end() || wish.power == Wish::Power::kOff) {
      if (overtakes) waiting_.erase(wish.machine);
      complete.push_back(std::move(wish));
    } else if (overtakes) {
      waiting_[wish.machine] = std::move(wish);
    }
  }
  return complete;
}

absl::btree_set<std::string> Catalogue::Missing() const {
  absl::btree_set<std::string> types;
  for (const auto& [machine, wish] : waiting_) types.insert(wish.instance_type);
  return types;
}

}  // namespace muster::fleetsim
