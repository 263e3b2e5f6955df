#include "services/lifecycle/core/text.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::lifecycle {
namespace {

constexpr size_t kNamed = 5;

}  // namespace

std::string ListText(const std::vector<std::string>& names) {
  const auto end = names.begin() + static_cast<int64_t>(std::min(names.size(), kNamed));
  std::string out = absl::StrJoin(names.begin(), end, ", ");
  if (names.size() > kNamed) absl::StrAppend(&out, " and ", names.size() - kNamed, " more");
  return out;
}

std::string BecauseText(absl::string_view why) {
  if (why.empty()) return ".";
  return absl::StrCat(": ", why, absl::EndsWith(why, ".") ? "" : ".");
}

std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

std::string ReleasedText(absl::string_view service) {
  return absl::StrCat(
      "The uid of this NodePool was released in ", service,
      ", where it does not come back: the NodePool was deleted, and then its Kubernetes object "
      "stayed, or lifecycle's database was restored to a time before that. Either delete the "
      "NodePool again, or delete the NodePool and create it anew.");
}

}  // namespace muster::lifecycle
