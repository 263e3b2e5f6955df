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

// Finds out, by lists of the API server, whether v1 Nodes that are missed are there after all. Many
// of them may go at a time: one list answers for all of a pool that are asked about soon after it
// began. Thread-safe.
class NodeLists {
 public:
  // All machines that the pool's v1 Nodes may be, by their provider ids and by their names.
  using Machines = absl::flat_hash_set<std::string>;
  using List = std::function<absl::StatusOr<Machines>(const std::string& pool_uid)>;

  // A caller who comes within this time of a list's beginning gets its answer, which may miss what
  // came since. One who comes later waits for the next list. The failure of a list is the answer to
  // those only who waited for it.
  static constexpr absl::Duration kStands = absl::Seconds(1);

  explicit NodeLists(List list, const SteadyClock* clock = TheSteadyClock())
      : list_(std::move(list)), clock_(*clock) {}

  // Whether the pool has a v1 Node that may be the machine. Blocks. Errors are those of the list.
  absl::StatusOr<bool> Has(const std::string& pool_uid, const std::string& machine);

 private:
  // `ended` is guarded by the mutex. `machines` belongs to the thread that lists until then, and
  // never changes afterwards.
  struct Run {
    absl::Duration begin_time = -absl::InfiniteDuration();
    bool ended = false;
    absl::StatusOr<Machines> machines = error::Unavailable("The list was broken off.");
  };

  // A run that has ended.
  std::shared_ptr<const Run> RunOf(const std::string& pool_uid);

  const List list_;
  const SteadyClock& clock_;
  Mutex mutex_;
  CondVar ended_;
  absl::flat_hash_map<std::string, std::shared_ptr<Run>> runs_
      MUSTER_GUARDED_BY(mutex_);  // by pool uid
};

}  // namespace muster::kubernetes
