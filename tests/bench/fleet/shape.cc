#include "tests/bench/fleet/shape.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "services/common/quota_name.h"

namespace muster::bench {
namespace {

constexpr int64_t kNodesAPool = 10;
constexpr int kZones = 5;
constexpr int kTypes = 8;
constexpr int kPoolsACluster = 20;
constexpr int kClustersAnOrganization = 10;
constexpr const char* kUpdateStrategies[] = {"Manual", "OnSpecUpdate", "Always"};
constexpr const char* kScaleDownStrategies[] = {"IdleOnly", "PreferIdle"};

// The Nodes of each pool, large and small ones mixed.
std::vector<int64_t> Sizes(int64_t nodes) {
  const int64_t pools = nodes / kNodesAPool;
  const int64_t large = pools / 50;
  const int64_t small = pools * 4 / 5;
  std::vector<int64_t> sizes = {nodes / 50};
  for (int64_t i = 0; i < large; ++i)
    sizes.push_back(50 + 450 * i / std::max<int64_t>(large - 1, 1));
  for (int64_t i = 0; i < small; ++i) sizes.push_back(1 + i % 4);
  int64_t left = nodes;
  for (const int64_t size : sizes) left -= size;
  for (int64_t others = pools - static_cast<int64_t>(sizes.size()); others > 0; --others) {
    sizes.push_back(left / others);
    left -= sizes.back();
  }
  // A stride that has no factor in common with their number takes each once.
  std::vector<int64_t> mixed;
  for (size_t i = 0; i < sizes.size(); ++i) mixed.push_back(sizes[i * 7919 % sizes.size()]);
  return mixed;
}

// A shape without pools.
Shape Places(int64_t nodes) {
  Shape shape;
  shape.nodes = nodes;
  for (int i = 0; i < kZones; ++i) shape.zones.push_back(absl::StrFormat("FLEET-%02dA", i));
  for (int i = 0; i < kTypes; ++i) shape.instance_types.push_back(absl::StrCat("fleet-type-", i));
  return shape;
}

void Add(const std::string& organization, const std::string& zone, const PoolShape& pool,
         Shape& shape) {
  shape.quotas[absl::StrCat(organization, "/quotas/",
                            QuotaIdOf(zone, pool.instance_type, pool.compute_class))] +=
      2 * pool.nodes;
  shape.machines[{zone, pool.instance_type}] += pool.nodes;
  shape.pools.push_back(pool);
}

void AddSpares(Shape& shape) {
  for (auto& [place, machines] : shape.machines) machines += machines / 10 + 8;
}

}  // namespace

Shape MakeShape(int64_t nodes) {
  Shape shape = Places(nodes);
  const std::vector<int64_t> sizes = Sizes(nodes);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const size_t cluster_number = i / kPoolsACluster;
    const std::string organization =
        absl::StrCat("organizations/org-", cluster_number / kClustersAnOrganization);
    const std::string cluster = absl::StrCat(organization, "/clusters/c", cluster_number);
    const std::string& zone = shape.zones[cluster_number % kZones];
    shape.clusters[cluster] = zone;
    const PoolShape pool{.name = absl::StrCat(cluster, "/nodePools/pool-", i),
                         .instance_type = shape.instance_types[i % kTypes],
                         .compute_class = i % 10 == 9 ? "spot" : "default",
                         .nodes = sizes[i],
                         .update_strategy = kUpdateStrategies[i % 3],
                         .scale_down_strategy = kScaleDownStrategies[i % 2]};
    Add(organization, zone, pool, shape);
  }
  AddSpares(shape);
  return shape;
}

Shape MakeOnePool(int64_t nodes) {
  const std::string organization = "organizations/org-0";
  const std::string cluster = absl::StrCat(organization, "/clusters/c0");
  Shape shape = Places(nodes);
  shape.clusters[cluster] = shape.zones[0];
  Add(organization, shape.zones[0],
      {.name = absl::StrCat(cluster, "/nodePools/pool-0"),
       .instance_type = shape.instance_types[0],
       .compute_class = "default",
       .nodes = nodes,
       .update_strategy = "OnSpecUpdate",
       .scale_down_strategy = "IdleOnly"},
      shape);
  AddSpares(shape);
  return shape;
}

}  // namespace muster::bench
