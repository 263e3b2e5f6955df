#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"

namespace muster::rpc {

// The messages of one method's streams that gRPC was given and could not send yet, as the reader
// does not read: its window (64 KiB and more, so that a quiet watch shows nothing for long) is
// full. Thread-safe.
class OpenWrites {
 public:
  // One stream, with at most one message under way at a time.
  class Stream {
   public:
    // `all`, which may be null, must be there until Leave.
    explicit Stream(OpenWrites* all) : all_(all) {
      if (all_ == nullptr) return;
      MutexLock lock(all_->mutex_);
      all_->streams_.insert(this);
    }
    ~Stream() { Leave(); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    void Began(absl::Duration now) { began_ = absl::ToInt64Nanoseconds(now); }
    void Ended() { began_ = kNone; }
    // From here on `all` may be destroyed. Not to be called together with the others; idempotent.
    void Leave() {
      if (all_ == nullptr) return;
      OpenWrites& all = *std::exchange(all_, nullptr);
      MutexLock lock(all.mutex_);
      all.streams_.erase(this);
    }

   private:
    friend class OpenWrites;
    static constexpr int64_t kNone = -1;
    OpenWrites* all_;
    std::atomic<int64_t> began_ = kNone;  // of a steady clock
  };

  struct Late {
    int64_t readers = 0;  // whose message is under way for at least `late`
    absl::Duration longest = absl::ZeroDuration();  // of all that are under way
  };
  Late Look(absl::Duration now, absl::Duration late) const {
    Late found;
    MutexLock lock(mutex_);
    for (const Stream* stream : streams_) {
      const int64_t began = stream->began_;
      if (began == Stream::kNone) continue;
      const absl::Duration waits = now - absl::Nanoseconds(began);
      if (waits >= late) ++found.readers;
      if (waits > found.longest) found.longest = waits;
    }
    return found;
  }

 private:
  mutable Mutex mutex_;
  absl::flat_hash_set<const Stream*> streams_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::rpc
