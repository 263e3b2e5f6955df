#include "services/lifecycle/core/events.h"

#include <algorithm>
#include <string>
#include <utility>

#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/names.h"

namespace muster::lifecycle {
namespace {

constexpr absl::string_view kWarnings[] = {
    "CWInstanceTypeNotInZone",
    "CWInsufficientCapacity",
    "CWInvalidInstanceType",
    "CWNodeDeliverFail",
    "CWNodePoolDisabled",
    "CWNodePoolNodesRemoveError",
    "CWNodePoolNodesRequestFailed",
    "CWNodePoolQuotaCheckFailed",
    "CWNodeRegistrationFailed",
    "CWOverQuota",
    "CWNodeDrainingPDBViolation",
    "CWNodeDrainingForceDelete",
    "CWNodePoolNoPendingConfiguration",
    "CWNodePoolNodeConfigRollbackFailed",
    "CWNodePoolNodeConfigUpdateConflict",
    "CWNodeConfigStagingFailed",
    "Preemption pending",
    "Preemption in progress",
    "Deleted for preemption",
    // Ours.
    "CWNodeBootFailed",
    "CWNodeUnhealthy",
    "CWNodePoolReconfigureHalted",
};

}  // namespace

absl::string_view EventTypeOf(absl::string_view reason) {
  const bool warning =
      std::find(std::begin(kWarnings), std::end(kWarnings), reason) != std::end(kWarnings);
  return warning ? "Warning" : "Normal";
}

void EventLog::Emit(absl::string_view pool_uid, absl::string_view object, absl::string_view reason,
                    absl::string_view message) {
  Event event;
  event.name = EventName(ClusterNameOf(object), EventId(pool_uid, object, reason, message));
  const Event* before = overlay_.state().table<Event>().Find(event.name);
  if (before != nullptr) {
    event = *before;
    ++event.count;
  } else {
    event.object = std::string(object);
    event.pool_uid = std::string(pool_uid);
    event.type = std::string(EventTypeOf(reason));
    event.reason = std::string(reason);
    event.message = std::string(message);
    event.first_time = time_;
    const State::EventsByTime* all = overlay_.state().EventsOf(pool_uid);
    if (all != nullptr && all->size() >= kMaxEventsAPool) {
      overlay_.Delete<Event>(std::string(all->begin()->second));
    }
  }
  event.last_time = time_;
  time_ += absl::Microseconds(1);
  overlay_.Put(std::move(event));
}

void EventLog::EmitAll(const Pool& pool, const Node* before, const Node& after,
                       absl::string_view why, bool timed_out) {
  for (const NodeEventTold& told : EventsOf(before, after, why, timed_out)) {
    Emit(pool.uid, told.on_pool ? pool.name : after.name, told.reason, told.message);
  }
}

}  // namespace muster::lifecycle
