#pragma once

#include <cstdint>

namespace muster {

// Whether a google.protobuf.Timestamp with these parts is one: years 1 to 9999.
constexpr bool IsTimestamp(int64_t seconds, int32_t nanos) {
  return seconds >= -62'135'596'800 && seconds <= 253'402'300'799 && nanos >= 0 &&
         nanos < 1'000'000'000;
}

}  // namespace muster
