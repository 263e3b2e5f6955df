#pragma once

#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

// The order of declarative requests: each bears a generation, which never goes down.
namespace muster {

// How far a generation may lie beyond the last one: farther than anybody gets who counts up, and so
// little that one mistaken call does not use up all of them.
inline constexpr int64_t kMaxGenerationJump = int64_t{1} << 32;

// Whether a request of generation `given` may be decided after one of `last`, 0 for none. ABORTED
// (GENERATION_TOO_OLD) when it is older; INVALID_ARGUMENT (GENERATION_OUT_OF_RANGE) when it is more
// than kMaxGenerationJump newer. Both bear metadata `generation` and `last_generation`.
absl::Status CheckGeneration(absl::string_view resource, int64_t given, int64_t last);

// In a Check: newer than any, whatever the last one is; the API writes it as 0. No caller may write
// this number.
inline constexpr int64_t kNewestGeneration = std::numeric_limits<int64_t>::max();

// Whether a caller may write `given`.
inline constexpr bool IsGeneration(int64_t given) {
  return given >= 1 && given < kNewestGeneration;
}
inline constexpr char kGenerationShape[] = "must be 1 to 9223372036854775806.";

// The generation that a Check decides with: `given`, or the next after `last` for
// kNewestGeneration.
int64_t CheckedGeneration(int64_t given, int64_t last);

}  // namespace muster
