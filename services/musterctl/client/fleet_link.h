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

// The fleet as it changes, by the watches of the four services, and questions about it, for as long
// as somebody looks. Thread-safe.
class FleetLink {
 public:
  // Stops.
  virtual ~FleetLink() = default;

  // How the watches are, in a fixed order.
  virtual std::vector<page::WatchHealth> health() const = 0;
  // Why the pool of this resource name is not where it should be. CANCELLED after Stop.
  virtual absl::StatusOr<lifecycle::v1::ExplainNodePoolResponse> Explain(
      const std::string& pool) = 0;
  // Who took over last. NOT_FOUND: nobody has yet, or the caller may not see who; CANCELLED after Stop.
  virtual absl::StatusOr<Leader> AskLeader() = 0;
  // Ends the watches and all questions, those under way too. Idempotent.
  virtual void Stop() = 0;
};

}  // namespace muster::musterctl
