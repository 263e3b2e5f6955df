#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::quota {

// Most Nodes of one limit or one pool: ten times the largest zone that we know of.
inline constexpr int64_t kMaxNodes = 1'000'000;
// Longest display name of a pool.
inline constexpr size_t kMaxPoolNameBytes = 512;
// Overrides of one limit, and the longest reason of one.
inline constexpr size_t kMaxOverrides = 16;
inline constexpr size_t kMaxReasonBytes = 512;
// Quotas that one ApplyOverrides writes; the rest is for the next.
inline constexpr size_t kMaxApplied = 1'000;
// Requests of one batch call.
inline constexpr int kMaxBatch = 1'000;
// Organizations that metrics name.
inline constexpr int kMaxMetricsOrganizations = 1'000;
// Holders that an answer lists one by one.
inline constexpr size_t kMaxHoldersListed = 10;

}  // namespace muster::quota
