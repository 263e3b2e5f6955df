#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace muster {

// What waits, by whose it is: those who have something waiting are served in turns, each one's own in its order. Who has much
// waiting makes nobody else wait longer than for one of his at a time. Not thread-safe.
template <class Item>
class TurnQueue {
 public:
  void Push(uint64_t owner, Item item) {
    const auto [found, is_new] = places_.try_emplace(owner, turns_.end());
    if (is_new) found->second = turns_.insert(turns_.end(), {.owner = owner});
    found->second->items.push_back(std::move(item));
    ++size_;
  }

  // At most so many, in turns; who was served last is behind the others the next time.
  std::vector<Item> Take(size_t most) {
    std::vector<Item> taken;
    taken.reserve(most < size_ ? most : size_);
    while (!turns_.empty() && taken.size() < most) {
      Turn& turn = turns_.front();
      taken.push_back(std::move(turn.items.front()));
      turn.items.pop_front();
      --size_;
      if (turn.items.empty()) {
        places_.erase(turn.owner);
        turns_.pop_front();
      } else {
        turns_.splice(turns_.end(), turns_, turns_.begin());
      }
    }
    return taken;
  }
  std::vector<Item> TakeAll() { return Take(size_); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t size_of(uint64_t owner) const {
    const auto found = places_.find(owner);
    return found == places_.end() ? 0 : found->second->items.size();
  }

 private:
  struct Turn {
    uint64_t owner = 0;
    std::deque<Item> items = {};
  };

  std::list<Turn> turns_;  // who is served next stands first; none without items
  absl::flat_hash_map<uint64_t, typename std::list<Turn>::iterator> places_;
  size_t size_ = 0;
};

}  // namespace muster
