#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "muster/lifecycle/v1/lifecycle_service.pb.h"
#include "services/page/core/source.h"
#include "services/page/watch_sink.h"

namespace muster::musterctl {

// The replica of lifecycle that reconciles, as the journal tells it.
struct Leader {
  std::string holder = {};
  int64_t epoch = 0;
  absl::Time since = absl::InfinitePast();  // when it took over; InfinitePast: not known any more
};

// Follows the fleet by the watches of the four services, and answers questions about it, until
// Stop. Thread-safe.
class FleetLink {
 public:
  // Stops.
  virtual ~FleetLink() = default;

  // The state of each watch, in a fixed order.
  virtual std::vector<page::WatchHealth> health() const = 0;
  // Why the pool of this resource name is not where it should be. CANCELLED after Stop.
  virtual absl::StatusOr<lifecycle::v1::ExplainNodePoolResponse> Explain(
      const std::string& pool) = 0;
  // The last replica that took over. NOT_FOUND: none has yet, or the caller may not see it;
  // CANCELLED after Stop.
  virtual absl::StatusOr<Leader> AskLeader() = 0;
  // Ends the watches and all questions, those under way too. Idempotent.
  virtual void Stop() = 0;
};

}  // namespace muster::musterctl
