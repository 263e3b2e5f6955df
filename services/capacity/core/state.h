#pragma once

#include <array>
#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "services/capacity/core/inventory.h"
#include "services/capacity/core/machines_print.h"
#include "services/capacity/core/rows.h"
#include "services/common/kept_request.h"
#include "services/common/released_pool.h"
#include "services/common/state.h"

namespace muster::capacity {

struct ById {
  using is_transparent = void;
  bool operator()(const MachineRow* a, const MachineRow* b) const { return a->id < b->id; }
  bool operator()(const MachineRow* a, absl::string_view b) const { return a->id < b; }
  bool operator()(absl::string_view a, const MachineRow* b) const { return a < b->id; }
};

// The machines that a claim holds.
struct Footprint {
  absl::btree_set<const MachineRow*, ById> machines = {};  // rows of the state's table
  absl::btree_map<std::string, int64_t> fabrics = {};      // fabric → machines there
  Ages ages = {};
  MachinesPrint print = 0;

  int64_t held() const { return static_cast<int64_t>(machines.size()); }
  bool operator==(const Footprint& other) const;
};

// Zone id and instance type id.
using InventoryKey = std::pair<std::string, std::string>;

// All that the capacity service knows. The indexes follow from the rows alone, in whatever order
// these came.
class State : public StateBase<State, ZoneRow, InstanceTypeRow, MachineRow, ClaimRow, ArrivalsRow,
                               ReleasedPool, KeptRequest> {
 public:
  // Its tables are large in code: all that changes them is compiled once (state.cc).
  State();
  State(const State&);
  State(State&&) noexcept;
  State& operator=(const State&);
  State& operator=(State&&) noexcept;
  ~State();

  // Null when there are neither machines nor waiting claims.
  const Inventory* FindInventory(const InventoryKey& key) const;
  const absl::btree_map<InventoryKey, Inventory>& inventories() const { return inventories_; }
  // Ids of machines, by MachineState.
  using IdsByState = std::array<absl::btree_set<std::string>, 5>;
  // Of all machines, whatever their state. None without any.
  const absl::btree_map<InventoryKey, IdsByState>& machine_ids() const { return machine_ids_; }
  // Empty for a claim that holds none.
  const Footprint& FootprintOf(absl::string_view pool_uid) const;
  // How many claims hold any.
  size_t footprints() const { return footprints_.size(); }

  const ZoneRow* FindZone(absl::string_view id) const {
    return table<ZoneRow>().Find(ZoneName(id));
  }
  const InstanceTypeRow* FindInstanceType(absl::string_view id) const {
    return table<InstanceTypeRow>().Find(InstanceTypeName(id));
  }
  const MachineRow* FindMachine(absl::string_view id) const {
    return table<MachineRow>().Find(MachineName(id));
  }
  const ClaimRow* FindClaim(absl::string_view uid) const {
    return table<ClaimRow>().Find(ClaimName(uid));
  }

  const ArrivalsRow* FindArrivals(const InventoryKey& key, ComputeClass compute_class) const {
    return table<ArrivalsRow>().Find(ArrivalsRow{key.first, key.second, compute_class}.Key());
  }

  const ReleasedByTime& released() const { return released_; }
  const KeptByTime& kept() const { return kept_; }

  // Whether all indexes are the same. For audits and tests: after any history they equal those
  // built from the rows. Whoever adds an index, here or to Inventory, adds it to IndexParts
  // (audit.h), too.
  bool SameIndexes(const State& other) const;

 private:
  friend StateBase;
  void Reindex(const ZoneRow*, const ZoneRow*) {}
  void Reindex(const InstanceTypeRow* before, const InstanceTypeRow* after);
  void Reindex(const MachineRow* before, const MachineRow* after);
  void Reindex(const ClaimRow* before, const ClaimRow* after);
  void Reindex(const ArrivalsRow*, const ArrivalsRow*) {}
  void Reindex(const ReleasedPool* before, const ReleasedPool* after);
  void Reindex(const KeptRequest* before, const KeptRequest* after);
  Inventory& InventoryFor(const std::string& zone, const std::string& instance_type);
  // Takes the machine out of the footprint of its holder, if it has one; puts it in.
  void Leave(const MachineRow& machine);
  void Enter(const MachineRow& machine);
  // Exchanges the row of a machine whose holder stays.
  void Replace(const MachineRow& before, const MachineRow& after);
  // To be called before and after a change of what the claim holds, on which it depends how a
  // gang's parts wait: takes a gang out of the queue, and puts it back.
  void Unqueue(const std::string& pool_uid);
  void Requeue(const std::string& pool_uid);
  void Move(const MachineRow* before, const MachineRow* after);
  void DropIfEmpty(const std::string& zone, const std::string& instance_type);

  void ReindexId(const MachineRow* before, const MachineRow* after);

  absl::btree_map<InventoryKey, Inventory> inventories_;
  absl::btree_map<InventoryKey, IdsByState> machine_ids_;
  absl::flat_hash_map<std::string, Footprint> footprints_;
  ReleasedByTime released_;
  KeptByTime kept_;
};

}  // namespace muster::capacity

namespace muster {
extern template class StateBase<capacity::State, capacity::ZoneRow, capacity::InstanceTypeRow,
                                capacity::MachineRow, capacity::ClaimRow, capacity::ArrivalsRow,
                                ReleasedPool, KeptRequest>;
}  // namespace muster
