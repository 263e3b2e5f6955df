#include "services/capacity/core/queue.h"

#include <algorithm>

#include "services/capacity/core/parts.h"

namespace muster::capacity {
namespace {

QueueKey KeyOf(const ClaimRow& claim, const ClaimPart& part) {
  return {claim.compute_class, claim.priority, part.request_time, claim.pool_uid};
}

// Calls f(key, nodes) for every place of the claim, in order.
template <class F>
void ForEachPlace(const ClaimRow& claim, F f) {
  if (claim.parts.empty()) return;
  if (claim.gang) return f(KeyOf(claim, claim.parts.front()), Outstanding(claim.parts));
  for (const ClaimPart& part : claim.parts) f(KeyOf(claim, part), part.nodes);
}

}  // namespace

void Queue::Add(const ClaimRow& claim, int64_t covered) {
  Line& line = lines_[Selector{claim.affinity, claim.gang}];
  ForEachPlace(claim, [&](const QueueKey& key, int64_t nodes) {
    const int64_t here = std::min(nodes, covered);
    covered -= here;
    const bool reclaims = claim.compute_class == ComputeClass::kDefault;
    line.Insert(key, {1, nodes, reclaims ? nodes - here : 0});
  });
}

void Queue::Remove(const ClaimRow& claim) {
  const auto line = lines_.find(Selector{claim.affinity, claim.gang});
  ForEachPlace(claim, [&](const QueueKey& key, int64_t) { line->second.Erase(key); });
  if (line->second.empty()) lines_.erase(line);
}

const Line* Queue::FindLine(const Selector& selector) const {
  const auto it = lines_.find(selector);
  return it == lines_.end() ? nullptr : &it->second;
}

QueueSum Queue::Total() const {
  QueueSum sum;
  for (const auto& [selector, line] : lines_) sum += line.Total();
  return sum;
}

QueueSum Queue::AheadOf(const QueueKey& key) const {
  QueueSum sum;
  for (const auto& [selector, line] : lines_) sum += line.Before(key);
  return sum;
}

QueuePlace Queue::PlaceOf(const ClaimRow& claim) const {
  QueuePlace place;
  QueueKey first;
  QueueKey youngest;
  int64_t places = 0;
  int64_t own = 0;  // Nodes of the parts before the youngest
  int64_t last = 0;
  ForEachPlace(claim, [&](const QueueKey& key, int64_t nodes) {
    if (places++ == 0) first = key;
    youngest = key;
    own += last;
    last = nodes;
  });
  if (places == 0) return place;
  const QueueSum ahead = AheadOf(first);
  place.place = ahead.entries + 1;
  place.nodes_ahead = (places == 1 ? ahead : AheadOf(youngest)).nodes - own;
  return place;
}

}  // namespace muster::capacity
