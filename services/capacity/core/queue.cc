#include "services/capacity/core/queue.h"

#include "services/capacity/core/parts.h"

namespace muster::capacity {
namespace {

QueueKey KeyOf(const ClaimRow& claim, const ClaimPart& part) {
  return {claim.compute_class, claim.priority, part.request_time, claim.pool_uid};
}

}  // namespace

bool IsAtOnce(const ClaimRow& claim, const ClaimPart& part, const Ages& ages) {
  return claim.gang && !ages.contains(part.request_time);
}

void Queue::Add(const ClaimRow& claim, const Ages& ages) {
  for (const ClaimPart& part : claim.parts) {
    Line& line = lines_[Selector{claim.affinity, IsAtOnce(claim, part, ages)}];
    line.Insert(KeyOf(claim, part), {1, part.nodes});
  }
}

void Queue::Remove(const ClaimRow& claim, const Ages& ages) {
  for (const ClaimPart& part : claim.parts) {
    const auto line = lines_.find(Selector{claim.affinity, IsAtOnce(claim, part, ages)});
    line->second.Erase(KeyOf(claim, part));
    if (line->second.empty()) lines_.erase(line);
  }
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
  if (claim.parts.empty()) return place;
  const ClaimPart& youngest = claim.parts.back();
  const QueueSum ahead = AheadOf(KeyOf(claim, claim.parts.front()));
  place.place = ahead.entries + 1;
  place.nodes_ahead = claim.parts.size() == 1 ? ahead.nodes
                                              : AheadOf(KeyOf(claim, youngest)).nodes -
                                                    (Outstanding(claim.parts) - youngest.nodes);
  return place;
}

}  // namespace muster::capacity
