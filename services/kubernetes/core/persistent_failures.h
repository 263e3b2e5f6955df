#pragma once

#include <cstdint>
#include <optional>

#include "absl/time/time.h"

namespace muster::kubernetes {

// After so many failures in a row an object's failures do not seem to pass by themselves.
inline constexpr int kPersistentFailures = 8;
// Objects that are told of in a minute; more are counted. All may fail at once.
inline constexpr int kMostToldAMinute = 20;

// Which failures of objects that fail again and again are told: each object's at
// kPersistentFailures in a row, then whenever they are twice as many as the last time. Not
// thread-safe.
class PersistentFailures {
 public:
  // An object has failed again, `failures` times in a row by now. nullopt: it is not to be told.
  // Else how many failures of others were due since the last one that was told, and were not told.
  std::optional<int64_t> Tell(int failures, absl::Time now);

 private:
  absl::Time minute_ = absl::InfinitePast();
  int told_ = 0;  // in this minute
  int64_t left_out_ = 0;
};

}  // namespace muster::kubernetes
