#pragma once

#include <algorithm>
#include <cstddef>

#include "absl/container/flat_hash_map.h"  // erase_if

namespace muster::rpc {

// How many may be remembered before anybody is forgotten.
inline constexpr size_t kSweepAtLeast = 1'000;

// Forgets those of a map who are idle, when they have become `at`: twice as many as were left the
// last time.
template <class Map, class IsIdle>
void Sweep(Map& map, size_t& at, IsIdle is_idle) {
  if (map.size() < at) return;
  absl::erase_if(map, is_idle);
  at = std::max(kSweepAtLeast, 2 * map.size());
}

}  // namespace muster::rpc
