#include "tests/simulation/wishes.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/names.h"
#include "tests/simulation/scene.h"

namespace muster::simulation {

int64_t SomeTarget(Dice& dice, const std::string& pool, int rack_nodes) {
  if (LastIdOf(pool) != "rack") return dice.Roll(9);
  return rack_nodes * dice.Roll(rack_nodes > 4 ? 3 : 4);
}

lifecycle::Spec SomeSpec(Dice& dice, const std::string& name, const lifecycle::Pool* pool) {
  lifecycle::Spec spec;
  if (pool != nullptr) {
    spec = pool->spec;
  } else {
    const absl::string_view id = LastIdOf(name);
    spec.instance_type = id == "rack"     ? kRackType
                         : dice.OneIn(4)  ? kCpuType
                         : dice.OneIn(30) ? "unknown-type"
                                          : kGpuType;
    if (id == "spot") spec.compute_class = "spot";
  }
  spec.scale_down_strategy = dice.OneIn(2) ? lifecycle::ScaleDownStrategy::kIdleOnly
                                           : lifecycle::ScaleDownStrategy::kPreferIdle;
  spec.disable_unhealthy_node_eviction = dice.OneIn(2);
  if (dice.OneIn(3)) spec.node_labels["team"] = absl::StrCat("t", dice.Roll(3));
  if (dice.OneIn(3)) spec.gpu = lifecycle::Gpu{dice.OneIn(2) ? "570" : "580"};
  spec.image.reset();
  if (dice.OneIn(12)) spec.image = lifecycle::Image{.release_train = "latest"};
  constexpr const char* kBudgets[] = {"", "", "1", "2", "25%"};
  spec.max_unavailable = kBudgets[dice.Roll(5)];
  spec.priority = dice.Roll(3) - 1;
  spec.gang = dice.OneIn(8);
  const bool racks = spec.instance_type == kRackType;
  spec.autoscaling = !racks && dice.OneIn(6);
  spec.max_nodes = spec.autoscaling ? 8 : 0;
  spec.node_affinity.clear();
  if (dice.OneIn(8)) spec.node_affinity = {{{"disk", "In", {"nvme"}}}};
  spec.prefill.reset();
  if (!racks && !spec.autoscaling && !spec.spot() && dice.OneIn(4))
    spec.prefill = lifecycle::Prefill{true, 60 * (1 + dice.Roll(10)), 1 + dice.Roll(4)};
  constexpr const char* kStrategies[] = {"", "Manual", "OnSpecUpdate", "Always"};
  spec.update_strategy = kStrategies[dice.Roll(4)];
  return spec;
}

capacity::RegisterMachines SomeRack(Dice& dice, const std::string& zone, const std::string& type,
                                    int rack, int count) {
  capacity::RegisterMachines command;
  for (int slot = 0; slot < count; ++slot) {
    capacity::MachineRow machine{.id = absl::StrCat("g", rack, "-", slot)};
    machine.zone = zone;
    machine.instance_type = type;
    machine.fabric = absl::StrCat("f", rack % 2);
    machine.rack = absl::StrCat("r", rack);
    machine.slot = slot;
    if (dice.OneIn(2)) machine.labels["disk"] = "nvme";
    command.machines.push_back(std::move(machine));
  }
  return command;
}

}  // namespace muster::simulation
