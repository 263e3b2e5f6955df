#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "services/common/clock.h"
#include "services/common/mutex.h"
#include "services/musterctl/client/api.h"
#include "services/musterctl/client/fleet_link.h"
#include "services/musterctl/top/fleet.h"
#include "services/musterctl/top/view.h"

namespace muster::musterctl {

// The fleet as the watches report it and the page of `top` reads it: of one server, or of several
// cells, each with watches of its own. Thread-safe.
class LiveFleet {
 public:
  // Starts the watches of these cells (Session::cells). `clock` must outlive the LiveFleet.
  static absl::StatusOr<std::unique_ptr<LiveFleet>> Follow(const std::vector<Cell>& cells,
                                                           const Clock& clock);
  ~LiveFleet();
  LiveFleet(const LiveFleet&) = delete;
  LiveFleet& operator=(const LiveFleet&) = delete;

  template <class F>
  auto Read(F f) const {
    MutexLock lock(mutex_);
    return f(fleet_);
  }
  // The state of each cell's watches, in the order of the cells.
  std::vector<top::CellWatches> health() const;
  size_t cells() const { return links_.size(); }
  const std::string& name(size_t cell) const { return names_[cell]; }
  // For questions to a cell.
  FleetLink& link(size_t cell) const { return *links_[cell]; }
  // Ends all watches, and all questions. Idempotent.
  void Stop();

 private:
  class Sink;

  explicit LiveFleet(const Clock& clock);

  const Clock& clock_;
  mutable Mutex mutex_;
  top::Fleet fleet_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<Sink>> sinks_;
  std::vector<std::unique_ptr<FleetLink>> links_;
};

}  // namespace muster::musterctl
