#pragma once

#include "absl/time/time.h"
#include "services/common/backoff.h"

namespace muster::lifecycle {

// When quota is to be told anew what all pools were charged for (Reconciler::Restate). While quota
// is away, attempts come ever more seldom; but one precedes whatever else is asked of it, probes
// aside, which ask for no growth (PeerClient), and if that fails, too, nothing else is asked
// (IsDone), so that nobody grows before quota has heard of all.
// Times are of a steady clock. Not thread-safe.
class RestateSchedule {
 public:
  static constexpr absl::Duration kFirstPause = absl::Milliseconds(200);
  static constexpr absl::Duration kLongestPause = absl::Seconds(30);

  // It is to be done: at once, unless an attempt has failed since it was asked for. Whoever asks
  // may do so as often as quota cannot be reached.
  void Ask() {
    if (from_ == absl::InfiniteDuration()) from_ = -absl::InfiniteDuration();
  }
  // `asks`: something else is about to be asked of quota.
  bool IsDue(absl::Duration now, bool asks) const {
    return from_ != absl::InfiniteDuration() && (asks || now >= from_);
  }
  // Quota has heard of all, or nobody doubts that it has: it may be asked for more.
  bool IsDone() const { return from_ == absl::InfiniteDuration(); }
  // Quota was away.
  void Failed(absl::Duration now) { from_ = now + pauses_.Next(); }
  // It was done, or is another replica's to do.
  void Done() {
    pauses_.Reset();
    from_ = absl::InfiniteDuration();
  }

 private:
  Backoff pauses_{kFirstPause, kLongestPause};
  absl::Duration from_ = absl::InfiniteDuration();  // infinite: it is done
};

}  // namespace muster::lifecycle
