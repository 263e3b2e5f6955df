#pragma once

#include "services/lifecycle/wire/lifecycle_wire.h"
#include "services/lifecycle/wire/times.h"

// Parts of messages that NodePools and Nodes have in common.
namespace muster::lifecycle {

inline void SetTaint(const Taint& taint, v1::Taint* out) {
  out->set_key(taint.key);
  out->set_value(taint.value);
  out->set_effect(taint.effect);
}

inline void SetCondition(const Condition& condition, v1::Condition* out) {
  out->set_type(condition.type);
  out->set_status(condition.status);
  out->set_reason(condition.reason);
  out->set_message(condition.message);
  MUSTER_SET_TIME(*out, last_transition_time, condition.last_transition_time);
  out->set_observed_generation(condition.observed_generation);
  out->set_event_reason(condition.event_reason);
}

}  // namespace muster::lifecycle
