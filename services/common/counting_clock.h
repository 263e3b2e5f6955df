#pragma once

#include <atomic>

#include "services/common/steady_clock.h"

namespace muster {

// A steady clock that is moved by hand, and counts who asks. For tests. Thread-safe.
class CountingClock final : public SteadyClock {
 public:
  absl::Duration Now() const override {
    ++asked;
    return clock.Now();
  }

  FakeSteadyClock clock;
  mutable std::atomic<int> asked = 0;
};

}  // namespace muster
