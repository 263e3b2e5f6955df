#pragma once

#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <muster/configuration/v1/configuration_service.grpc.pb.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/snapshot.h"
#include "services/lifecycle/lifecycle_service.h"

namespace muster::lifecycle {

// A pool as one pass of the loop sees it: rows that nobody changes any more, what is asked and what
// was answered.
struct Picture {
  std::shared_ptr<const Cluster> cluster = {};
  std::shared_ptr<const Pool> pool = {};
  std::vector<std::shared_ptr<const Node>> rows = {};  // keeps `nodes` alive
  std::vector<const Node*> nodes = {};
  int64_t version = 0;
  CatalogueFacts catalogue = {};
  Demand demand = {};
  Answers answers = {};
};

// Asks the other services for a whole batch of pools: three calls, at the same time. What does not
// come within the timeout is an answer too (kAway).
class Asker {
 public:
  explicit Asker(const Peers& peers);

  // Fills in `answers`, which must be empty. At most 1,000 pictures. Blocks for at most about
  // `timeout`.
  void Ask(absl::Span<Picture> pictures, absl::Duration timeout) const;

 private:
  const std::unique_ptr<quota::v1::QuotaService::Stub> quota_;
  const std::unique_ptr<capacity::v1::CapacityService::Stub> capacity_;
  const std::unique_ptr<configuration::v1::ConfigurationService::Stub> configuration_;
};

}  // namespace muster::lifecycle
