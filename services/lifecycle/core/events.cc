#include "services/lifecycle/core/events.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "services/lifecycle/core/decide.h"
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
    "CWNodePoolMaxNodesUnreachable",
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
  const Event* before = staged_.state().table<Event>().Find(event.name);
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
    MakeRoom(pool_uid);
  }
  event.last_time = time_;
  time_ += absl::Microseconds(1);
  staged_.Put(std::move(event));
}

// Some go at once, so that it is looked for seldom: first what newer events of the same Node stand
// before, then what is each Node's newest, the pool's own last; of each what was seen longest ago.
void EventLog::MakeRoom(absl::string_view pool_uid) {
  const State::EventsByTime* all = staged_.state().EventsOf(pool_uid);
  if (all == nullptr || all->size() < kMaxEventsAPool) return;
  enum Rank { kSuperseded, kNewest, kOwn };
  std::vector<std::tuple<Rank, absl::Time, std::string>> ranked;
  absl::flat_hash_set<absl::string_view> seen;
  const Table<Event>& events = staged_.state().table<Event>();
  for (auto it = all->rbegin(); it != all->rend(); ++it) {
    const std::string& object = events.Find(it->second)->object;
    const bool own = object.find("/nodes/") == std::string::npos;
    const Rank rank = own ? kOwn : seen.insert(object).second ? kNewest : kSuperseded;
    ranked.emplace_back(rank, it->first, it->second);
  }
  std::sort(ranked.begin(), ranked.end());
  for (size_t i = 0; i < kForgottenEvents; ++i) staged_.Delete<Event>(std::get<2>(ranked[i]));
}

void EventLog::EmitAll(const Pool& pool, const Node* before, const Node& after,
                       absl::string_view why, bool timed_out) {
  for (const NodeEventTold& told : EventsOf(before, after, why, timed_out)) {
    Emit(pool.uid, told.on_pool ? pool.name : after.name, told.reason, told.message);
  }
}

StatusOrOutcome Decide(StagedState<State>& staged, const ExpireEvents& command, absl::Time now) {
  const State::EventsByTime& gone = staged.state().EventsOfGone();
  for (size_t i = 0; i < kMaxExpiredEvents && !gone.empty(); ++i) {
    const auto [time, name] = *gone.begin();
    if (now - time < command.keep) break;
    staged.Delete<Event>(name);
  }
  return Outcome{.revision = staged.revision()};
}

}  // namespace muster::lifecycle
