#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "services/capacity/core/state.h"

// The record of how fast machines become available: for each zone, instance type and class the last
// bursts in which they came, whoever got them and wherever they are by now.
namespace muster::capacity {

// Bursts that are kept, not counting the first, which only tells when the record begins. So many
// give the rate to within a quarter; older ones are of a time when the rate may have been
// different.
constexpr size_t kKeptBursts = 20;

// Adds machines that came at `now`, which must not be before any of the bursts. Machines that come
// within half the usual time between bursts join the last burst: a pool that is given up gives its
// machines back over minutes, which is one event and not many. `since`: the time from which on
// these machines would have been seen; a record that is empty begins there.
void Arrive(std::vector<Burst>& bursts, int64_t machines, absl::Time since, absl::Time now);

// Records the machines that became available by the changes after the mark, which are those of one
// decision, serving included: machines given back, and new ones that somebody waited for (setting
// up a fleet says nothing of later). Repaired machines do not count: each makes up for one that
// broke, whose replacement was asked for before all who wait. Machines that went to default claims,
// which come first, do not count for class spot. Changes at most one row for each inventory and
// class.
void NoteArrivals(StagedState<State>& staged, size_t mark, absl::Time now);

}  // namespace muster::capacity
