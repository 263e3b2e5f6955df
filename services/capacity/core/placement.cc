#include "services/capacity/core/placement.h"

#include <iterator>

namespace muster::capacity {
namespace {

// The tightest group that holds `wanted`, else the largest.
const std::string& PickBySize(const BySize& groups, int64_t wanted) {
  const auto too_small = groups.lower_bound({wanted - 1, ""});
  if (too_small == groups.begin()) return groups.begin()->name;
  return groups.lower_bound({std::prev(too_small)->size, ""})->name;
}

bool HasRoom(const Fabric& fabric, bool whole_racks) {
  return whole_racks ? !fabric.whole.empty() : fabric.free > 0;
}

const Fabric& PickFabric(const Depot& depot, const Footprint& footprint, int64_t wanted,
                         bool whole_racks, std::string* name) {
  int64_t most = 0;
  for (const auto& [used, held] : footprint.fabrics) {
    const auto it = depot.fabrics().find(used);
    if (held > most && it != depot.fabrics().end() && HasRoom(it->second, whole_racks)) {
      most = held;
      *name = used;
    }
  }
  if (most == 0) *name = PickBySize(whole_racks ? depot.by_whole() : depot.by_free(), wanted);
  return depot.fabrics().find(*name)->second;
}

void Take(const Rack& rack, int64_t nodes, std::vector<std::string>& ids) {
  for (const auto& [slot, id] : rack.free) {
    if (nodes-- <= 0) return;
    ids.push_back(id);
  }
}

const Rack& PickRack(const Depot& depot, const std::string& fabric_name, const Fabric& fabric,
                     absl::string_view pool_uid, int64_t nodes) {
  if (const Depot::Places* own = depot.PartlyHeld(pool_uid)) {
    const auto it = own->lower_bound({fabric_name, ""});
    if (it != own->end() && it->first == fabric_name) return fabric.racks.find(it->second)->second;
  }
  return fabric.racks.find(PickBySize(fabric.by_free, nodes))->second;
}

}  // namespace

std::vector<std::string> ChooseMachines(const Depot& depot, const Footprint& footprint,
                                        absl::string_view pool_uid, int64_t nodes) {
  std::vector<std::string> ids;
  if (depot.free() == 0) return ids;
  std::string name;
  const Fabric& fabric = PickFabric(depot, footprint, nodes, false, &name);
  Take(PickRack(depot, name, fabric, pool_uid, nodes), nodes, ids);
  return ids;
}

std::vector<std::string> ChooseWholeRack(const Depot& depot, const Footprint& footprint,
                                         int64_t racks) {
  std::vector<std::string> ids;
  if (depot.by_whole().empty()) return ids;
  std::string name;
  const Fabric& fabric = PickFabric(depot, footprint, racks, true, &name);
  Take(fabric.racks.find(*fabric.whole.begin())->second, depot.nodes_per_rack(), ids);
  return ids;
}

std::vector<std::string> ChooseRefill(const Depot& depot, absl::string_view pool_uid,
                                      int64_t nodes) {
  std::vector<std::string> ids;
  const Depot::Places* own = depot.PartlyHeld(pool_uid);
  if (own == nullptr) return ids;
  for (const auto& [fabric_name, rack_name] : *own) {
    const int64_t wanted = nodes - static_cast<int64_t>(ids.size());
    const Rack& rack = depot.fabrics().find(fabric_name)->second.racks.find(rack_name)->second;
    if (rack.held.size() == 1 && !rack_name.empty()) Take(rack, wanted, ids);
  }
  return ids;
}

}  // namespace muster::capacity
