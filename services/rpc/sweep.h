#pragma once

#include <algorithm>
#include <cstddef>

#include "absl/container/flat_hash_map.h"  // erase_if

namespace muster::rpc {

// How many entries a map may have before any are forgotten.
inline constexpr size_t kSweepAtLeast = 1'000;

// Removes the idle entries of a map once it has `at` entries, and sets `at` to twice as many as are
// left (at least kSweepAtLeast).
template <class Map, class IsIdle>
void Sweep(Map& map, size_t& at, IsIdle is_idle) {
  if (map.size() < at) return;
  absl::erase_if(map, is_idle);
  at = std::max(kSweepAtLeast, 2 * map.size());
}

}  // namespace muster::rpc
