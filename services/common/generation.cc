#include "services/common/generation.h"

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"

namespace muster {
namespace {

absl::Status OutOfRange(absl::string_view resource, int64_t given, int64_t last) {
  return error::Make(
      absl::StatusCode::kInvalidArgument,
      absl::StrCat(resource, ": generation ", given, " is more than ", kMaxGenerationJump,
                   " beyond the last one, ", last, "."),
      {.reason = "GENERATION_OUT_OF_RANGE",
       .metadata = {{"generation", absl::StrCat(given)}, {"last_generation", absl::StrCat(last)}},
       .resource = std::string(resource)});
}

}  // namespace

absl::Status CheckGeneration(absl::string_view resource, int64_t given, int64_t last) {
  if (given < last) return error::GenerationTooOld(resource, given, last);
  // `last` is at least 0, so that this cannot overflow.
  if (given - last > kMaxGenerationJump) return OutOfRange(resource, given, last);
  return absl::OkStatus();
}

int64_t CheckedGeneration(int64_t given, int64_t last) {
  if (given != kNewestGeneration) return given;
  return last == std::numeric_limits<int64_t>::max() ? last : last + 1;
}

}  // namespace muster
