#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

// Every limit of the capacity service in one place.
namespace muster::capacity {

constexpr int64_t kMaxNodes = 1'000'000;  // a claim may want
constexpr size_t kMaxBatch = 1'000;       // machines or claims in one call
constexpr size_t kMaxReturns = 1'000;     // machines given back in one request
constexpr size_t kMaxParts =
    64;  // outstanding parts of a claim; beyond it the two youngest of a kind become one
constexpr size_t kMaxZoneTypes = 1'000;  // instance types that a zone offers
constexpr size_t kMaxPoolBytes = 512;    // a pool's display name
constexpr size_t kMaxPrintBytes = 64;    // a print that a caller sends back
constexpr size_t kMaxLabels = 64;        // labels a machine
constexpr size_t kMaxAffinityTerms = 16;
constexpr size_t kMaxAffinityExpressions = 16;  // a term
constexpr size_t kMaxAffinityValues = 64;       // an expression
constexpr size_t kMaxAffinityBytes = 16 << 10;  // keys and values of all terms
constexpr size_t kMaxPlacementRequests = 20;    // in one call of the capacity finder
constexpr size_t kMaxPlacementZones = 100;      // that such a call may name
constexpr int32_t kMaxSlot = 9'999;             // a machine's number in its rack
constexpr int32_t kMaxNodesPerRack = 1'000;     // nodes_per_rack
constexpr int32_t kMaxGpus = 1'000;             // GPUs a machine
constexpr int32_t kMaxVcpus = 1'000'000;        // vCPUs a machine
constexpr int32_t kMaxPods = 10'000;            // Pods a Node
constexpr int64_t kMaxKib = int64_t{1} << 50;   // memory or disk of a machine, in KiB

// From the decision to reclaim a spot machine to its drain, as users are promised.
constexpr absl::Duration kSpotNotice = absl::Minutes(2);
// The shortest that an operator may set.
constexpr absl::Duration kMinSpotNotice = absl::Seconds(1);

// How long a waiting gang keeps what is free from default claims behind it.
constexpr absl::Duration kGangKeep = absl::Hours(24);

// How far apart in time the requests of one batch count as made, so that their order decides.
constexpr absl::Duration kAskedApart = absl::Microseconds(1);

}  // namespace muster::capacity
