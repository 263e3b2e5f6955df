#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"

namespace muster::lifecycle {

// What a watch of capacity's machines tells, sieved down to what a waiting pool is told of them:
// how many are in service or in repair (a gang waits for these, too), of which type, in which zone,
// with which labels. Who holds one, or what it waits for, is no news. Memory only; for one thread.
class HeardStock {
 public:
  using Depot = std::pair<std::string, std::string>;  // zone, instance type
  using Depots = std::set<Depot>;
  struct Machine {
    absl::string_view zone;
    absl::string_view instance_type;
    size_t print = 0;  // of its labels and whether it is in repair; 0: retired
  };

  void BeginSnapshot() { ++snapshot_; }
  // What the snapshot did not tell of is gone.
  void EndSnapshot(Depots& changed) {
    for (auto it = known_.begin(); it != known_.end();) {
      if (it->second.snapshot == snapshot_) {
        ++it;
      } else {
        Note(it->second, 0, changed);
        known_.erase(it++);
      }
    }
  }
  // The machine of this name as it is now.
  void Take(absl::string_view name, const Machine& machine, Depots& changed) {
    const Depot* depot =
        &*depots_.emplace(std::string(machine.zone), std::string(machine.instance_type)).first;
    Known& known = known_[Hash(name)];
    known.snapshot = snapshot_;
    if (known.depot != depot) Note(known, 0, changed);
    known.depot = depot;
    Note(known, machine.print, changed);
  }
  void Forget(absl::string_view name, Depots& changed) {
    const auto it = known_.find(Hash(name));
    if (it == known_.end()) return;
    Note(it->second, 0, changed);
    known_.erase(it);
  }

 private:
  struct Known {
    const Depot* depot = nullptr;  // one of depots_
    size_t print = 0;
    uint64_t snapshot = 0;
  };
  static void Note(Known& known, size_t print, Depots& changed) {
    if (known.print != print) changed.insert(*known.depot);
    known.print = print;
  }
  static size_t Hash(absl::string_view name) { return absl::Hash<absl::string_view>()(name); }

  uint64_t snapshot_ = 0;
  Depots depots_;                             // seen so far
  absl::flat_hash_map<size_t, Known> known_;  // by hash of the name
};

}  // namespace muster::lifecycle
