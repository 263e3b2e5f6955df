#pragma once

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/event_reasons.h"
#include "services/common/state.h"
#include "services/lifecycle/core/node_events.h"
#include "services/lifecycle/core/state.h"

namespace muster::lifecycle {

// Writes events into a staged state: equal ones are counted on one row. Events of one command
// happen a microsecond apart, so that their order can be told from their times.
class EventLog {
 public:
  // The staged state must outlive it.
  EventLog(StagedState<State>& staged, absl::Time now) : staged_(staged), time_(now) {}

  // `object`: resource name of the pool with that uid, or of one of its Nodes.
  void Emit(absl::string_view pool_uid, absl::string_view object, EventReason reason,
            absl::string_view message);
  // Writes the events that tell of a change of one of the pool's Nodes, see EventsOf
  // (node_events.h).
  void EmitAll(const Pool& pool, const Node* before, const Node& after, absl::string_view why,
               bool timed_out = false);

 private:
  void MakeRoom(absl::string_view pool_uid);

  StagedState<State>& staged_;
  absl::Time time_;
};

}  // namespace muster::lifecycle
