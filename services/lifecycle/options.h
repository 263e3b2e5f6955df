#pragma once

#include <memory>

#include "services/common/clock.h"
#include "services/common/cpu_share.h"
#include "services/common/kept_request.h"
#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/reconcile/options.h"
#include "storage/postgres/lane.h"

namespace muster::lifecycle {

// The options of the lifecycle service and of all its parts. All but the first three are flags of
// the server, which checks them (services/musterd/options.h).
struct Options {
  storage::LaneOptions lane = {};      // connect.schema is `lifecycle`
  const Clock* clock = nullptr;        // null: the database's; outlives the service
  std::shared_ptr<CpuShare> cpu = {};  // of all slow work of the process; null: there is no other
  LoopOptions loop = {};
  OrphanOptions orphans = {};
  OrganizationLimits organizations = {};
  KeepPolicy request_keep = {};  // keep: at least kMinRequestKeep
};

}  // namespace muster::lifecycle
