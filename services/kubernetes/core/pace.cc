#include "services/kubernetes/core/pace.h"

#include <algorithm>

namespace muster::kubernetes {

Pace::Pace(int a_minute)
    : a_second_(a_minute / 60.0), at_once_(std::max(1.0, a_minute / 6.0)), left_(at_once_) {}

absl::Duration Pace::Take(absl::Duration now) {
  left_ = std::min(at_once_, left_ + a_second_ * absl::ToDoubleSeconds(now - time_));
  time_ = now;
  left_ -= 1;
  return left_ >= 0 ? absl::ZeroDuration() : absl::Seconds(-left_ / a_second_);
}

}  // namespace muster::kubernetes
