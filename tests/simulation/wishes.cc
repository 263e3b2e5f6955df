#include "tests/simulation/wishes.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/names.h"
#include "tests/simulation/scene.h"

namespace muster::simulation {

int64_t SomeTarget(Random& random, const std::string& pool, int rack_nodes) {
  if (LastIdOf(pool) != "rack") return random.Uniform(9);
  return rack_nodes * random.Uniform(rack_nodes > 4 ? 3 : 4);
}

lifecycle::Spec SomeSpec(Random& random, const std::string& name, const lifecycle::Pool* pool) {
  lifecycle::Spec spec;
  if (pool != nullptr) {
    spec = pool->spec;
  } else {
    const absl::string_view id = LastIdOf(name);
    spec.instance_type = id == "rack"       ? kRackType
                         : random.OneIn(4)  ? kCpuType
                         : random.OneIn(30) ? "unknown-type"
                                            : kGpuType;
    if (id == "spot") spec.compute_class = "spot";
  }
  spec.scale_down_strategy = random.OneIn(2) ? lifecycle::ScaleDownStrategy::kIdleOnly
                                             : lifecycle::ScaleDownStrategy::kPreferIdle;
  spec.disable_unhealthy_node_eviction = random.OneIn(2);
  if (random.OneIn(3)) spec.node_labels["team"] = absl::StrCat("t", random.Uniform(3));
  if (random.OneIn(3)) spec.gpu = lifecycle::Gpu{random.OneIn(2) ? "570" : "580"};
  spec.image.reset();
  if (random.OneIn(12)) spec.image = lifecycle::Image{.release_train = "latest"};
  constexpr const char* kBudgets[] = {"", "", "1", "2", "25%"};
  spec.max_unavailable = kBudgets[random.Uniform(5)];
  spec.priority = random.Uniform(3) - 1;
  spec.gang = random.OneIn(8);
  const bool racks = spec.instance_type == kRackType;
  spec.autoscaling = !racks && random.OneIn(6);
  spec.max_nodes = spec.autoscaling ? 8 : 0;
  spec.node_affinity.clear();
  if (random.OneIn(8)) spec.node_affinity = {{{"disk", "In", {"nvme"}}}};
  spec.prefill.reset();
  if (!racks && !spec.autoscaling && !spec.spot() && random.OneIn(4))
    spec.prefill = lifecycle::Prefill{true, 60 * (1 + random.Uniform(10)), 1 + random.Uniform(4)};
  constexpr const char* kStrategies[] = {"", "Manual", "OnSpecUpdate", "Always"};
  spec.update_strategy = kStrategies[random.Uniform(4)];
  return spec;
}

capacity::RegisterMachines SomeRack(Random& random, const std::string& zone,
                                    const std::string& type, int rack, int count) {
  capacity::RegisterMachines command;
  for (int slot = 0; slot < count; ++slot) {
    capacity::MachineRow machine{.id = absl::StrCat("g", rack, "-", slot)};
    machine.zone = zone;
    machine.instance_type = type;
    machine.fabric = absl::StrCat("f", rack % 2);
    machine.rack = absl::StrCat("r", rack);
    machine.slot = slot;
    if (random.OneIn(2)) machine.labels["disk"] = "nvme";
    command.machines.push_back(std::move(machine));
  }
  return command;
}

}  // namespace muster::simulation
