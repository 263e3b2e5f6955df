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
  // `run`: an id of this run of this process, without dots. A reader of another process or of an
  // earlier run is recognized by it, and does not resume here.
  explicit LiveBoard(std::string run) : run_(std::move(run)) {}

  // Names this board: the run, and how often the board was renewed.
  std::string epoch() const {
    MutexLock lock(mutex_);
    return Epoch();
  }

  void BeginSnapshot(Source source) override {
    MutexLock lock(mutex_);
    board_.BeginSnapshot(source);
  }
  // Takes a message. False: the board had overgrown (Board::Overgrown) and was replaced by an empty
  // one, which needs all snapshots again.
  bool Take(const capacity::v1::WatchCapacityResponse& message) override { return Tell(message); }
  bool Take(const quota::v1::WatchQuotasResponse& message) override { return Tell(message); }
  bool Take(const lifecycle::v1::WatchLifecycleResponse& message) override { return Tell(message); }
  bool Take(const configuration::v1::WatchConfigurationsResponse& message) override {
    return Tell(message);
  }
  // Board::TellAfter. nullopt: the reader cannot resume at `place` of `epoch`, and must begin anew.
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
