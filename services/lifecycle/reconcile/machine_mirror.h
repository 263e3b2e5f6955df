#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"

namespace muster::lifecycle {

// Capacity's machines, as a watch tells them, reduced to what makes waiting pools due: which
// machines are in service or in repair (a gang waits for these, too), of which type, in which zone,
// with which labels. Who holds a machine is no news, but is counted, to tell how many a pool could
// have. Memory only. Not thread-safe.
class MachineMirror {
 public:
  using InventoryKey = std::pair<std::string, std::string>;  // zone, instance type
  using InventoryKeys = std::set<InventoryKey>;
  // kLent: held as spot. kReclaimed: held as spot and being taken back.
  enum class Use { kNone, kFree, kHeld, kLent, kReclaimed };
  struct Machine {
    absl::string_view zone;
    absl::string_view instance_type;
    size_t print = 0;  // of its labels and whether it is in repair; 0: retired
    Use use = Use::kNone;
    absl::string_view claim = {};  // pool uid, while it is held
  };

  void BeginSnapshot() { ++snapshot_; }
  // Drops what the snapshot did not tell of. Adds to `changed` where machines in service have
  // changed, as do the calls below.
  void EndSnapshot(InventoryKeys& changed) {
    whole_ = true;
    for (auto it = known_.begin(); it != known_.end();) {
      if (it->second.snapshot == snapshot_) {
        ++it;
      } else {
        Drop(it->second, changed);
        known_.erase(it++);
      }
    }
  }
  // Takes in a machine as it is now. True: it is held and not as its holder knew it, so that it may
  // not match the holder's node affinity any more.
  bool Take(absl::string_view name, const Machine& machine, InventoryKeys& changed) {
    const auto inventory =
        inventories_
            .try_emplace({std::string(machine.zone), std::string(machine.instance_type)}, Counts{})
            .first;
    Known& known = known_[Hash(name)];
    known.snapshot = snapshot_;
    const bool differs = known.print != 0 && known.print != machine.print;
    Count(known, -1);
    if (known.inventory != &*inventory) Note(known, 0, changed);
    known.inventory = &*inventory;
    known.use = machine.use;
    known.claim = machine.claim.empty() ? 0 : Hash(machine.claim);
    Count(known, 1);
    Note(known, machine.print, changed);
    return differs && known.claim != 0;
  }
  void Forget(absl::string_view name, InventoryKeys& changed) {
    const auto it = known_.find(Hash(name));
    if (it == known_.end()) return;
    Drop(it->second, changed);
    known_.erase(it);
  }

  // How many machines the pool's claim holds or could hold now: its own, those that are free, and,
  // unless it is spot, those that are held as spot or being reclaimed. A grant to the pool does not
  // change the number. nullopt: no snapshot was told to its end yet.
  std::optional<int64_t> Obtainable(const InventoryKey& of, absl::string_view pool_uid,
                                    bool spot) const {
    if (!whole_) return std::nullopt;
    const auto inventory = inventories_.find(of);
    if (inventory == inventories_.end()) return 0;
    const auto held = held_.find(Hash(pool_uid));
    const int64_t own = held == held_.end() ? 0 : held->second;
    return inventory->second.free + (spot ? own : inventory->second.lent + own);
  }

 private:
  struct Counts {
    int64_t free = 0;
    int64_t lent = 0;  // those being taken back, too
  };
  struct Known {
    std::pair<const InventoryKey, Counts>* inventory = nullptr;  // one of inventories_
    size_t print = 0;
    Use use = Use::kNone;
    size_t claim = 0;  // hash of the pool's uid
    uint64_t snapshot = 0;
  };
  static void Note(Known& known, size_t print, InventoryKeys& changed) {
    if (known.print != print) changed.insert(known.inventory->first);
    known.print = print;
  }
  void Drop(Known& known, InventoryKeys& changed) {
    Count(known, -1);
    Note(known, 0, changed);
  }
  void Count(const Known& known, int64_t by) {
    if (known.inventory == nullptr) return;
    Counts& counts = known.inventory->second;
    counts.free += known.use == Use::kFree ? by : 0;
    counts.lent += known.use == Use::kLent || known.use == Use::kReclaimed ? by : 0;
    if (known.use != Use::kHeld && known.use != Use::kLent) return;
    const auto held = held_.try_emplace(known.claim, 0).first;
    held->second += by;
    if (held->second == 0) held_.erase(held);
  }
  static size_t Hash(absl::string_view name) { return absl::Hash<absl::string_view>()(name); }

  uint64_t snapshot_ = 0;
  bool whole_ = false;                          // a snapshot was told to its end
  std::map<InventoryKey, Counts> inventories_;  // seen so far
  absl::flat_hash_map<size_t, int64_t> held_;   // machines by hash of the pool's uid
  absl::flat_hash_map<size_t, Known> known_;    // by hash of the name
};

}  // namespace muster::lifecycle
