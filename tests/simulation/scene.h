#pragma once

#include <string>
#include <vector>

// What every world is made of.
namespace muster::simulation {

inline const std::vector<std::string>& Zones() {
  static const auto& zones = *new std::vector<std::string>{"US-EAST-04A", "US-WEST-01A"};
  return zones;
}

inline constexpr char kGpuType[] = "gd-8xa100-i128";
inline constexpr char kCpuType[] = "cd-gp-a192";
// Comes in whole racks.
inline constexpr char kRackType[] = "gb200-4x";

// Sorted.
inline const std::vector<std::string>& Types() {
  static const auto& types = *new std::vector<std::string>{kCpuType, kRackType, kGpuType};
  return types;
}

// Names of pools that come and go.
inline const std::vector<std::string>& PoolNamesEver() {
  static const auto& names = *new std::vector<std::string>{
      "organizations/acme/clusters/c1/nodePools/train",
      "organizations/acme/clusters/c1/nodePools/serve",
      "organizations/acme/clusters/c1/nodePools/spot",
      "organizations/acme/clusters/c1/nodePools/rack",
      "organizations/acme/clusters/c2/nodePools/train",
      "organizations/beta/clusters/c1/nodePools/train",
      "organizations/beta/clusters/c1/nodePools/spot",
      "organizations/beta/clusters/c1/nodePools/rack",
  };
  return names;
}

}  // namespace muster::simulation
