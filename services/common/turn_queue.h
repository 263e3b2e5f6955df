#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace muster {

// Items that wait, by owner: owners are served in turn, an item at a time, and each one's items in
// their order. So an owner with many items makes no other wait for more than one of them at a time.
// Not thread-safe.
template <class Item>
class TurnQueue {
 public:
  void Push(uint64_t owner, Item item) {
    const auto [found, is_new] = places_.try_emplace(owner, turns_.end());
    if (is_new) found->second = turns_.insert(turns_.end(), {.owner = owner});
    found->second->items.push_back(std::move(item));
    ++size_;
  }

  // Takes at most `most` items, one of each owner in turn; the owner that was served last comes
  // last the next time.
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

  std::list<Turn> turns_;  // the owner that is served next is first; only owners with items
  absl::flat_hash_map<uint64_t, typename std::list<Turn>::iterator> places_;
  size_t size_ = 0;
};

}  // namespace muster
