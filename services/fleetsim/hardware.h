#pragma once

#include <cstdint>
#include <string>

namespace muster::fleetsim {

// What a machine has, and what its kubelet announces of it.
struct Hardware {
  int64_t cpus = 0;
  int64_t memory_kib = 0;
  int64_t storage_kib = 0;        // ephemeral
  int64_t gpus = 0;               // 0: none
  int64_t pods = 0;               // most that its Node runs
  std::string architecture = {};  // as Kubernetes calls it: `amd64`, `arm64`
  bool operator==(const Hardware&) const = default;
};

}  // namespace muster::fleetsim
