#include "services/capacity/core/turns.h"

namespace muster::capacity {

void Turns::Open(const Queue& queue, const Selector& selector, const QueueKey* after) {
  const Line* line = queue.FindLine(selector);
  const Line::Entry* entry = line == nullptr ? nullptr : line->First(after);
  if (entry != nullptr) open_.push({selector, entry->first, entry->second.nodes});
}

std::optional<Turn> Turns::Next() {
  if (open_.empty()) return std::nullopt;
  Turn turn = open_.top();
  open_.pop();
  return turn;
}

}  // namespace muster::capacity
