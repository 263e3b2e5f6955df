#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/common/error.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"

namespace muster::kubernetes {

// Whether pools have the v1 Nodes of machines that are missed, by lists of the API server. v1 Nodes go many at a time: one list
// answers for all of a pool that are asked about soon after it began. Thread-safe.
class NodeLists {
 public:
  // All machines that the pool's v1 Nodes may be: of their provider ids, and their names.
  using Machines = absl::flat_hash_set<std::string>;
  using List = std::function<absl::StatusOr<Machines>(const std::string& pool_uid)>;

  // Who comes within this of a list's beginning takes what it says: it may miss what came since. Who comes later waits for the
  // next one. One that failed is taken by those alone who waited for it.
  static constexpr absl::Duration kStands = absl::Seconds(1);

  explicit NodeLists(List list, const SteadyClock* clock = TheSteadyClock())
      : list_(std::move(list)), clock_(*clock) {}

  // Blocks. Errors are those of the list.
  absl::StatusOr<bool> Has(const std::string& pool_uid, const std::string& machine);

 private:
  // Its end is guarded by the mutex. What it says is its maker's until then, and never changes after.
  struct Run {
    absl::Duration begin_time = -absl::InfiniteDuration();
    bool ended = false;
    absl::StatusOr<Machines> machines = error::Unavailable("The list was broken off.");
  };

  // Ended.
  std::shared_ptr<const Run> RunOf(const std::string& pool_uid);

  const List list_;
  const SteadyClock& clock_;
  Mutex mutex_;
  CondVar ended_;
  absl::flat_hash_map<std::string, std::shared_ptr<Run>> runs_
      MUSTER_GUARDED_BY(mutex_);  // by pool uid
};

}  // namespace muster::kubernetes
