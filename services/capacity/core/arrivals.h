#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "services/capacity/core/state.h"

// What is known of how fast machines come: per zone, instance type and class the last bursts in
// which they came, whoever got them and wherever they are by now.
namespace muster::capacity {

// Bursts that are kept beside the first, which only tells since when the others came: so many tell
// the rate to a quarter, and older ones are of a time that may have been another.
constexpr size_t kKeptBursts = 20;

// Adds machines that came at `now`, not before any of the bursts. What comes within half the usual
// time between bursts belongs to the last one: a pool that is given up gives its machines back over
// minutes, and has told only once how often that happens. `since`: from when on they would have
// been seen; where nothing is known yet the record begins there.
void Arrive(std::vector<Burst>& bursts, int64_t machines, absl::Time since, absl::Time now);

// Notes what came by the changes after the mark, which are a decision's, served and all: machines
// given back, and new ones that somebody waited for (a fleet that is set up tells nothing of
// later). Not those that were repaired: each makes up for one that broke and was asked for anew,
// before all who wait. For class spot without those that went to default claims, which come first.
// At most one row a class changes for each inventory, and none where nothing came.
void NoteArrivals(StagedState<State>& staged, size_t mark, absl::Time now);

}  // namespace muster::capacity
