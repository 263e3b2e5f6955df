#pragma once

#include <cstdint>
#include <optional>

#include "absl/time/time.h"

namespace muster::kubernetes {

// From the so manieth failure in a row on, an object's failures do not pass by themselves.
inline constexpr int kPersistentFailures = 8;
// Objects that are told of in a minute; more are counted. All may fail at once.
inline constexpr int kMostToldAMinute = 20;

// Which failures of objects that fail again and again are told: each object's at kPersistentFailures in
// a row, then whenever they are twice as many as the last time. Not thread-safe.
class PersistentFailures {
 public:
  // Another failure of an object, the so manieth in a row. How many others were due and not told
  // since the last that was; nullopt: this one is not told.
  std::optional<int64_t> Tell(int failures, absl::Time now);

 private:
  absl::Time minute_ = absl::InfinitePast();
  int told_ = 0;  // in this minute
  int64_t left_out_ = 0;
};

}  // namespace muster::kubernetes
