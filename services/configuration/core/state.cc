#include "services/configuration/core/state.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace muster::configuration {

State::State() = default;
State::State(const State&) = default;
State::State(State&&) noexcept = default;
State& State::operator=(const State&) = default;
State& State::operator=(State&&) noexcept = default;
State::~State() = default;

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

std::vector<std::string> State::Offered(Channel channel, Component component, size_t numbers,
                                        size_t most) const {
  std::vector<std::string> offered;
  std::vector<int64_t> last;
  if (const auto found = versions_.find({channel, component}); found != versions_.end()) {
    for (auto it = found->second.rbegin(); it != found->second.rend(); ++it) {
      if (offered.size() == most) return offered;
      const size_t size = std::min(numbers, it->numbers.size());
      const std::vector<int64_t> first(it->numbers.begin(),
                                       it->numbers.begin() + static_cast<std::ptrdiff_t>(size));
      if (numbers > 0 && first == std::exchange(last, first)) continue;
      offered.push_back(numbers == 0 ? it->text : PrintNumbers(first));
    }
  }
  if (const auto found = labels_.find({channel, component});
      numbers == 0 && found != labels_.end()) {
    for (auto it = found->second.begin(); it != found->second.end(); ++it) {
      if (offered.size() == most) return offered;
      offered.push_back(*it);
    }
  }
  return offered;
}

void State::Reindex(const Release* before, const Release* after) {
  if (before != nullptr && !before->withdraw_time) {
    const std::pair key(before->channel, before->component);
    if (const auto version = ParseVersion(before->version)) {
      versions_[key].erase(*version);
    } else {
      labels_[key].erase(before->version);
    }
  }
  if (after != nullptr && !after->withdraw_time) {
    const std::pair key(after->channel, after->component);
    if (const auto version = ParseVersion(after->version)) {
      versions_[key].insert(*version);
    } else {
      labels_[key].insert(after->version);
    }
  }
}

void State::Reindex(const NodeProfile*, const NodeProfile*) {}

void State::Reindex(const PoolConfiguration*, const PoolConfiguration*) {}

void State::Reindex(const ReleasedPool* before, const ReleasedPool* after) {
  released_.Reindex(before, after);
}

void State::Reindex(const KeptRequest* before, const KeptRequest* after) {
  kept_.Reindex(before, after);
}

}  // namespace muster::configuration

namespace muster {
template class StateBase<configuration::State, configuration::Release, configuration::NodeProfile,
                         configuration::PoolConfiguration, ReleasedPool, KeptRequest>;
}  // namespace muster
