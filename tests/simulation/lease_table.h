#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "services/lifecycle/core/lease.h"

namespace muster::simulation {

// The row of the leader's heartbeat in lifecycle's database: not in the journal, but restored with
// it.
class LeaseTable {
 public:
  const std::optional<lifecycle::Heartbeat>& row() const { return row_; }
  // `now`: of the world.
  void Put(lifecycle::Heartbeat row, absl::Time now) {
    row_ = std::move(row);
    past_.push_back({now, *row_});
    if (past_.size() > kPastKept) past_.pop_front();
  }
  void Restore(absl::Time then) {
    while (!past_.empty() && past_.back().first > then) past_.pop_back();
    row_.reset();
    if (!past_.empty()) row_ = past_.back().second;
  }

 private:
  static constexpr size_t kPastKept = 2'000;

  std::optional<lifecycle::Heartbeat> row_;
  std::deque<std::pair<absl::Time, lifecycle::Heartbeat>> past_;
};

}  // namespace muster::simulation
