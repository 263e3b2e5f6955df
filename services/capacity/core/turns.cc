#include "services/capacity/core/turns.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace muster::capacity {
namespace {

// A key that stands behind every default request and before every spot request.
const Queue::Request& EndOfDefaultRequests() {
  static const auto* const kEnd = new Queue::Request{
      {ComputeClass::kSpot, std::numeric_limits<int32_t>::max(), absl::InfinitePast(), ""}, {}};
  return *kEnd;
}

}  // namespace

void Walk::SkipDefault() {
  spot_ = true;
  left_ = 0;
  place_ = PlaceKey{ComputeClass::kSpot, absl::InfinitePast()};
  cursors_.clear();
}

void Walk::Advance(Cursor& cursor, const std::string& organization) const {
  const Queue::Request* after = cursor.request ? &*cursor.request : nullptr;
  if (after == nullptr && spot_) after = &EndOfDefaultRequests();
  const Queue::Requests::Entry* next = queue_.RequestsOf(organization).First(after);
  cursor.request = next->first;
  cursor.left = next->second.nodes;
}

std::optional<Run> Walk::Next() {
  if (left_ == 0) {
    const Queue::Places::Entry* next = queue_.places().First(place_ ? &*place_ : nullptr);
    if (next == nullptr) return std::nullopt;
    place_ = next->first;
    left_ = next->second.nodes;
  }
  Cursor& cursor = cursors_[place_->organization];
  if (cursor.left == 0) Advance(cursor, place_->organization);
  const int64_t nodes = std::min(left_, cursor.left);
  left_ -= nodes;
  cursor.left -= nodes;
  return Run{cursor.request->selector, cursor.request->key, *place_, nodes};
}

std::optional<Turn> QueueCursor::Next() {
  while (std::optional<Run> run = walk_.Next()) {
    if (!run->selector.gang)
      return Turn{std::move(run->selector),
                  std::move(run->key),
                  run->nodes,
                  {{std::move(run->place), run->nodes}}};
    const std::string organization = run->place.organization;
    Turn& turn = gathering_[organization];
    turn.selector = std::move(run->selector);
    turn.key = std::move(run->key);
    turn.nodes += run->nodes;
    turn.places.push_back({std::move(run->place), run->nodes});
    const QueueSum* all = queue_.RequestsOf(organization).Find({turn.key, {}});
    if (turn.nodes < all->nodes) continue;
    Turn complete = std::move(turn);
    gathering_.erase(organization);
    return complete;
  }
  return std::nullopt;
}

}  // namespace muster::capacity
