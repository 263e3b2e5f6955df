#pragma once

#include <muster/capacity/v1/capacity_service.pb.h>
#include <muster/configuration/v1/configuration_service.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.pb.h>
#include <muster/quota/v1/quota_service.pb.h>

#include "services/page/core/source.h"

namespace muster::page {

// Receives the messages of the four services' watches, each on a thread of its own. Implementations
// are thread-safe.
class WatchSink {
 public:
  virtual ~WatchSink() = default;

  // A snapshot of the source begins: rows that it does not repeat are gone at its end.
  virtual void BeginSnapshot(Source source) = 0;
  // Takes a message, with the messages bundled in it. False: the sink forgot everything and needs
  // all snapshots again.
  virtual bool Take(const capacity::v1::WatchCapacityResponse& message) = 0;
  virtual bool Take(const quota::v1::WatchQuotasResponse& message) = 0;
  virtual bool Take(const lifecycle::v1::WatchLifecycleResponse& message) = 0;
  virtual bool Take(const configuration::v1::WatchConfigurationsResponse& message) = 0;
};

}  // namespace muster::page
