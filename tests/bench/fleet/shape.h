#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace muster::bench {

// A pool that is to be.
struct PoolShape {
  std::string name = {};
  std::string instance_type = {};
  std::string compute_class = {};  // `default` or `spot`
  int64_t nodes = 0;
  std::string update_strategy = {};      // in turn Manual, OnSpecUpdate, Always
  std::string scale_down_strategy = {};  // in turn IdleOnly, PreferIdle
};

inline constexpr int64_t kMostNodes = 1'000'000;

// What a fleet of so many Nodes consists of. One in ten pools is spot.
struct Shape {
  std::vector<std::string> zones = {};
  std::vector<std::string> instance_types = {};  // offered by every zone
  // A tenth more than the pools want, by zone and instance type.
  std::map<std::pair<std::string, std::string>, int64_t> machines = {};
  std::map<std::string, std::string> clusters = {};  // names and zones
  std::map<std::string, int64_t> quotas = {};        // names and limits, twice what the pools want
  std::vector<PoolShape> pools = {};
  int64_t nodes = 0;
};

// Ten Nodes a pool: four pools in five have 1 to 4 Nodes, one in fifty has 50 to 500, one has a
// fiftieth of all, the others share what is left (12 or 13 each). 20 pools a cluster, 10 clusters
// an organization, 5 zones with 8 instance types each. Always the same. `nodes`: 1,000 to
// kMostNodes.
Shape MakeShape(int64_t nodes);

// The same with one pool for all Nodes: `default`, OnSpecUpdate, IdleOnly.
Shape MakeOnePool(int64_t nodes);

}  // namespace muster::bench
