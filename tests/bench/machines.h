#pragma once

#include <string>

#include "absl/status/status.h"
#include "tests/bench/calls.h"

namespace muster::bench {

// Machines in the catalogue of the measured server: zones that all offer the same instance types,
// the same number of machines of each. Racks of 8 on fabrics of 20 racks.
struct Inventories {
  std::string prefix = {};  // of its zones, instance types and machines; lower-case letters
  int zones = 1;
  int types = 1;
  int machines = 0;  // a zone and type

  int count() const { return zones * types; }  // of zones with types
  std::string Zone(int zone) const;
  std::string Type(int type) const;
};

// For claims on one zone and type: more machines than claims under way.
Inventories HotInventories();
// For a queue: 10,000 machines of one zone and type.
Inventories QueueInventories();
// 100,000 machines: 50 zones with 20 types each.
Inventories WideInventories();

// Registers it; what is there already stays.
absl::Status SetUp(const Connections& connections, const Inventories& inventories);

}  // namespace muster::bench
