#include "services/capacity/core/place.h"

#include <optional>
#include <string>

#include "services/capacity/core/names.h"
#include "services/common/resource_name.h"

namespace muster::capacity {

Place PlaceOf(const State& state, absl::string_view name) {
  if (IsZoneId(name)) return {.zone = std::string(name)};
  if (const std::optional<std::string> zone = ParseZoneName(name)) return {.zone = *zone};
  if (const MachineRow* machine = state.table<MachineRow>().Find(name))
    return {.zone = machine->zone};
  if (const ClaimRow* claim = state.table<ClaimRow>().Find(name))
    return {.name = claim->pool, .zone = claim->zone};
  return {};
}

}  // namespace muster::capacity
