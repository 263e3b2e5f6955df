#pragma once

#include <muster/capacity/v1/capacity_service.pb.h>
#include <muster/configuration/v1/configuration_service.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.pb.h>
#include <muster/quota/v1/quota_service.pb.h>

#include "services/page/core/source.h"

namespace muster::page {

// What hears the watches of the four services, each by a thread of its own. Thread-safe.
class WatchSink {
 public:
  virtual ~WatchSink() = default;

  // What the source told before counts as gone unless its snapshot tells it again.
  virtual void BeginSnapshot(Source source) = 0;
  // A message with its bundle. False: it forgot everything and wants all snapshots again.
  virtual bool Take(const capacity::v1::WatchCapacityResponse& message) = 0;
  virtual bool Take(const quota::v1::WatchQuotasResponse& message) = 0;
  virtual bool Take(const lifecycle::v1::WatchLifecycleResponse& message) = 0;
  virtual bool Take(const configuration::v1::WatchConfigurationsResponse& message) = 0;
};

}  // namespace muster::page
