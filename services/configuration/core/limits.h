#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::configuration {

inline constexpr size_t kMaxPoolNameBytes = 512;

// Numbers of a version: `570.124.06` has three.
constexpr size_t kMaxVersionNumbers = 4;
// Digits of one number of a version, so that it fits 32 bits.
constexpr size_t kMaxVersionDigits = 9;
// Versions that the text of a problem names as available.
constexpr size_t kMaxOffered = 10;
// Bytes of spec.image_name and spec.image_kernel, and of a release that is a name.
constexpr size_t kMaxImageBytes = 253;
// Bytes of the version or name of a new release: what a NodePool's spec.image can ask for
// (lifecycle's kMaxImageBytes). Releases that were published before this was asked may have more.
constexpr size_t kMaxNewReleaseBytes = 128;
// Profiles that a pool remembers having been active. The oldest goes first; those that its Nodes
// run and those that are disabled stay, even if they are more.
constexpr size_t kMaxRevisions = 50;
// The most that it remembers in any case: beyond it the oldest goes, whatever it is.
constexpr size_t kMostRevisions = 1'000;
// Requests in one batch.
constexpr size_t kMaxBatch = 1'000;
// Promotions and rollbacks that a pool remembers; those that nobody was told of yet stay, even if
// they are more.
constexpr size_t kMaxOrders = 10;
// The most that it remembers in any case: once there are as many, a new order is refused.
constexpr size_t kMostOrders = 1'000;
// Machines in one BootFailures.
constexpr size_t kMaxFailedMachines = 64;
// Nodes of one pool in delivery.
constexpr int64_t kMaxNodes = 1'000'000;
// Pools that are settled in one command, so that others get their turn in between.
constexpr size_t kMaxSettled = 500;
// Hex digits of the content's SHA-256 in a profile's id.
constexpr size_t kProfileIdDigits = 12;

}  // namespace muster::configuration
