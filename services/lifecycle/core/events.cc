#include "services/lifecycle/core/events.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "services/common/collections.h"
#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/names.h"

namespace muster::lifecycle {

void EventLog::Emit(absl::string_view pool_uid, absl::string_view object, EventReason reason,
                    absl::string_view message) {
  Event event;
  event.name = EventName(ClusterNameOf(object), EventId(pool_uid, object, TextOf(reason), message));
  const Event* before = staged_.state().table<Event>().Find(event.name);
  if (before != nullptr) {
    event = *before;
    ++event.count;
  } else {
    event.object = std::string(object);
    event.pool_uid = std::string(pool_uid);
    event.type = std::string(TextOf(TypeOf(reason)));
    event.reason = std::string(TextOf(reason));
    event.message = std::string(message);
    event.first_time = time_;
    MakeRoom(pool_uid);
  }
  event.last_time = time_;
  time_ += absl::Microseconds(1);
  staged_.Put(std::move(event));
}

// Many go at once, so that this is done seldom: first events of Nodes that have newer ones, then
// each Node's newest, the pool's own last; within each of these, those seen longest ago.
void EventLog::MakeRoom(absl::string_view pool_uid) {
  const State::EventsByTime* all = staged_.state().EventsOf(pool_uid);
  if (all == nullptr || all->size() < kMaxEventsAPool) return;
  enum Rank { kSuperseded, kNewest, kOwn };
  std::vector<std::pair<Rank, State::Seen>> ranked;
  absl::flat_hash_set<absl::string_view> seen;
  for (auto it = all->rbegin(); it != all->rend(); ++it) {
    const std::string& object = it->event->object;
    const bool own = CollectionOf(object) != "nodes";
    const Rank rank = own ? kOwn : seen.insert(object).second ? kNewest : kSuperseded;
    ranked.emplace_back(rank, *it);
  }
  std::sort(ranked.begin(), ranked.end());
  for (size_t i = 0; i < kForgottenEvents; ++i) staged_.Delete<Event>(ranked[i].second.name());
}

void EventLog::EmitAll(const Pool& pool, const Node* before, const Node& after,
                       absl::string_view why, bool timed_out) {
  for (const EventToEmit& told : EventsOf(before, after, why, timed_out)) {
    Emit(pool.uid, told.on_pool ? pool.name : after.name, told.reason, told.message);
  }
}

}  // namespace muster::lifecycle
