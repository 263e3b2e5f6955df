#pragma once

#include <optional>
#include <queue>
#include <vector>

#include "services/capacity/core/queue.h"

namespace muster::capacity {

// A place in the queue whose turn it is.
struct Turn {
  Selector selector = {};
  QueueKey key = {};
  int64_t nodes = 0;
};

// The lines of a queue merged into one order. Only open lines take part: each gets one turn, then
// has to be opened again. Every operation costs O(log). The queue may change in between.
class Turns {
 public:
  // The line's next turn is its first place after `after`; null: its first. Nothing happens if
  // there is none.
  void Open(const Queue& queue, const Selector& selector, const QueueKey* after);
  // Closes the line. nullopt: no line is open.
  std::optional<Turn> Next();

 private:
  struct Later {
    bool operator()(const Turn& a, const Turn& b) const { return b.key < a.key; }
  };
  std::priority_queue<Turn, std::vector<Turn>, Later> open_;
};

}  // namespace muster::capacity
