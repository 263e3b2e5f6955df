#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/bench/calls.h"
#include "tests/bench/fleet/shape.h"

// What an operator and a customer do with a fleet, through the API, many calls at a time.
namespace muster::bench {

// Zones, instance types, releases, quotas and clusters. Machines are the simulator's.
absl::Status CreateCatalogue(const Connections& connections, const Shape& shape);
absl::Status CreatePools(const Connections& connections, const Shape& shape);
// Pools by name and their new number of Nodes.
absl::Status Resize(const Connections& connections,
                    const std::vector<std::pair<std::string, int64_t>>& pools);
// The names of some Nodes of the pool, at most so many.
absl::StatusOr<std::vector<std::string>> SomeNodes(const Connections& connections,
                                                   const std::string& pool, int32_t most);
// Reports as the Node's agent that it has work, or none any more; returns once that is committed.
absl::Status ReportWork(const Connections& connections, const std::string& node, bool active);
// A boot image that is newer than all before it, `number` counting from 1.
absl::Status PublishImage(const Connections& connections, int number);

}  // namespace muster::bench
