#pragma once

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace muster {

// Where time comes from. Thread-safe. What is decided by the time of day asks a Clock and never
// absl::Now() itself.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;
};

// The machine's wall clock, cut to microseconds as Postgres keeps it, so that a time read back
// equals the time written.
class SystemClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::FromUnixMicros(absl::ToUnixMicros(absl::Now())); }
};

}  // namespace muster
