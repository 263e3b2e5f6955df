#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"

namespace muster::kubernetes {

// Whether pools have the v1 Nodes of machines that are missed, by lists of the API server. v1 Nodes go many at a time: one list
// answers for all of a pool that are asked about while it runs or soon after. Thread-safe.
class NodeLists {
 public:
  // All machines that the pool's v1 Nodes may be: of their provider ids, and their names.
  using Machines = absl::flat_hash_set<std::string>;
  using List = std::function<absl::StatusOr<Machines>(const std::string& pool_uid)>;

  // So long a list stands after it ended. One that failed does not.
  static constexpr absl::Duration kStands = absl::Seconds(1);

  explicit NodeLists(List list, const SteadyClock* clock = TheSteadyClock())
      : list_(std::move(list)), clock_(*clock) {}

  // Blocks. Errors are those of the list.
  absl::StatusOr<bool> Has(const std::string& pool_uid, const std::string& machine);

 private:
  // Guarded by the mutex until it has ended; then it never changes.
  struct Run {
    bool ended = false;
    absl::Duration end_time = -absl::InfiniteDuration();
    absl::StatusOr<Machines> machines = Machines();
  };

  // Ended.
  std::shared_ptr<const Run> RunOf(const std::string& pool_uid);
  bool Stands(const Run& run) const;

  const List list_;
  const SteadyClock& clock_;
  Mutex mutex_;
  CondVar ended_;
  absl::flat_hash_map<std::string, std::shared_ptr<Run>> runs_
      MUSTER_GUARDED_BY(mutex_);  // by pool uid
};

}  // namespace muster::kubernetes
