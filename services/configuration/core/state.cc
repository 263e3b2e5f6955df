#include "services/configuration/core/state.h"

#include <iterator>
#include <optional>
#include <vector>

namespace muster::configuration {

const Version* State::Newest(Channel channel, Component component,
                             absl::Span<const int64_t> prefix) const {
  const auto found = versions_.find({channel, component});
  if (found == versions_.end()) return nullptr;
  const std::set<Version>& versions = found->second;
  auto end = versions.end();
  if (!prefix.empty()) {
    // All that begins with 570.124 lies below 570.125.
    Version above = {.numbers = {prefix.begin(), prefix.end()}};
    ++above.numbers.back();
    end = versions.lower_bound(above);
  }
  if (end == versions.begin()) return nullptr;
  const Version& newest = *std::prev(end);
  return Fits(newest, prefix) ? &newest : nullptr;
}

void State::Reindex(const Release* before, const Release* after) {
  const auto set = [this](const Release& release) -> std::set<Version>& {
    return versions_[{release.channel, release.component}];
  };
  if (before != nullptr && !before->withdraw_time) {
    if (const auto version = ParseVersion(before->version)) set(*before).erase(*version);
  }
  if (after != nullptr && !after->withdraw_time) {
    if (const auto version = ParseVersion(after->version)) set(*after).insert(*version);
  }
}

void State::Reindex(const NodeProfile*, const NodeProfile*) {}

void State::Reindex(const PoolConfiguration* before, const PoolConfiguration* after) {
  if (before != nullptr && after != nullptr && before->spec == after->spec) return;
  if (before != nullptr) {
    const auto it = followers_.find(WantsOf(before->spec));
    if (it != followers_.end()) {
      it->second.erase(before->Key());
      if (it->second.empty()) followers_.erase(it);
    }
  }
  if (after != nullptr) followers_[WantsOf(after->spec)].insert(after->Key());
}

}  // namespace muster::configuration
