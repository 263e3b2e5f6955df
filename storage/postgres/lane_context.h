#pragma once

#include "storage/postgres/lane_clock.h"
#include "storage/postgres/lane_db.h"
#include "storage/postgres/state_cell.h"
#include "storage/postgres/store.h"

namespace muster::storage {

// What every part of a lane that knows its State works with. All outlive the parts.
template <class State>
struct LaneContext {
  const LaneOptions& options;
  const Store<State>& store;
  LaneClock& clock;
  LaneDb& db;
  StateCell<State>& memory;
};

}  // namespace muster::storage
