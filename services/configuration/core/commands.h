#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/configuration/core/types.h"

namespace muster::configuration {

// "This was released." Idempotent.
struct PublishRelease {
  Channel channel = Channel::kStable;
  Component component = Component::kGpuDriver;
  std::string version = {};
};

// "This pool's spec says so." Declarative: twice has the effect of once.
struct SyncPool {
  std::string pool_uid = {};
  int64_t generation = 0;
  Spec spec = {};        // not read with `release`
  bool release = false;  // the pool is gone
};

// Decided in their order, each on its own.
struct SyncPools {
  std::vector<SyncPool> requests = {};
};

}  // namespace muster::configuration
