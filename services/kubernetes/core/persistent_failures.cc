#include "services/kubernetes/core/persistent_failures.h"

#include <bit>
#include <utility>

namespace muster::kubernetes {
namespace {

bool IsDue(int failures) {
  return failures > 0 && failures % kPersistentFailures == 0 &&
         std::has_single_bit(static_cast<unsigned>(failures / kPersistentFailures));
}

}  // namespace

std::optional<int64_t> PersistentFailures::Tell(int failures, absl::Time now) {
  if (!IsDue(failures)) return std::nullopt;
  if (now - minute_ >= absl::Minutes(1)) {
    minute_ = now;
    told_ = 0;
  }
  if (told_ == kMostToldAMinute) {
    ++left_out_;
    return std::nullopt;
  }
  ++told_;
  return std::exchange(left_out_, 0);
}

}  // namespace muster::kubernetes
