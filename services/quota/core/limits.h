#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::quota {

// Most Nodes of one limit or one pool: ten times the largest zone that we know of.
inline constexpr int64_t kMaxNodes = 1'000'000;
// Longest display name of a pool.
inline constexpr size_t kMaxPoolNameBytes = 512;
// Requests of one batch call.
inline constexpr int kMaxBatch = 1'000;

}  // namespace muster::quota
