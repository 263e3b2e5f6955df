#pragma once

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/mutex.h"
#include "services/page/core/board.h"
#include "services/page/watch_sink.h"

namespace muster::page {

// A board that watches write and readers read. Thread-safe.
class LiveBoard final : public WatchSink {
 public:
  // `run`: tells this board from those of other processes and of earlier runs, so that nobody
  // resumes here what he began there. No dots.
  explicit LiveBoard(std::string run) : run_(std::move(run)) {}

  // Of the run and of how often the board began anew.
  std::string epoch() const {
    MutexLock lock(mutex_);
    return Epoch();
  }

  void BeginSnapshot(Source source) override {
    MutexLock lock(mutex_);
    board_.BeginSnapshot(source);
  }
  // False: the board is overgrown (Board::Overgrown), was thrown away, and wants all snapshots
  // again.
  bool Take(const capacity::v1::WatchCapacityResponse& message) override { return Tell(message); }
  bool Take(const quota::v1::WatchQuotasResponse& message) override { return Tell(message); }
  bool Take(const lifecycle::v1::WatchLifecycleResponse& message) override { return Tell(message); }
  bool Take(const configuration::v1::WatchConfigurationsResponse& message) override {
    return Tell(message);
  }
  // nullopt: what would have to be told there is not told any more.
  std::optional<Board::Frame> TellAfter(const std::string& epoch, const Place& place,
                                        size_t most) const {
    MutexLock lock(mutex_);
    if (epoch != Epoch() || !board_.CanResumeAt(place)) return std::nullopt;
    return board_.TellAfter(place, most);
  }
  // Board::PlacesAlone.
  Board PlacesAlone() const {
    MutexLock lock(mutex_);
    return board_.PlacesAlone();
  }
  bool CanResumeAt(const std::string& epoch, const Place& place) const {
    MutexLock lock(mutex_);
    return epoch == Epoch() && board_.CanResumeAt(place);
  }

 private:
  template <class Message>
  bool Tell(const Message& message) {
    MutexLock lock(mutex_);
    board_.Take(message);
    if (!board_.Overgrown()) return true;
    board_ = Board();
    ++renewals_;
    return false;
  }
  std::string Epoch() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return renewals_ == 0 ? run_ : absl::StrCat(run_, "-", renewals_);
  }

  const std::string run_;
  mutable Mutex mutex_;
  Board board_ MUSTER_GUARDED_BY(mutex_);
  int renewals_ MUSTER_GUARDED_BY(mutex_) = 0;
};

}  // namespace muster::page
