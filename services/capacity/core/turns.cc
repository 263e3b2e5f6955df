#include "services/capacity/core/turns.h"

namespace muster::capacity {

void Turns::Open(const Queue& queue, const Selector& selector, const QueueKey* after) {
  const Line* line = queue.FindLine(selector);
  if (line == nullptr) return;
  const Line::Entry* entry = line->First(after);
  if (entry == nullptr) return;
  const auto& [key, sum] = *entry;
  open_.push({selector, key, sum.nodes});
}

std::optional<Turn> Turns::Next() {
  if (open_.empty()) return std::nullopt;
  Turn turn = open_.top();
  open_.pop();
  return turn;
}

}  // namespace muster::capacity
