#pragma once

#include <cstdint>

#include "absl/time/time.h"

// A google.protobuf.Timestamp as absl::Time and back. Templates, so that nothing here includes
// protobuf.
namespace muster {

// Whether a google.protobuf.Timestamp with these parts is one: years 1 to 9999.
constexpr bool IsTimestamp(int64_t seconds, int32_t nanos) {
  return seconds >= -62'135'596'800 && seconds <= 253'402'300'799 && nanos >= 0 &&
         nanos < 1'000'000'000;
}

template <class Timestamp>
void SetTimestamp(absl::Time time, Timestamp* out) {
  out->set_seconds(absl::ToUnixSeconds(time));
  out->set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(out->seconds()))));
}

template <class Timestamp>
absl::Time FromTimestamp(const Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

}  // namespace muster
