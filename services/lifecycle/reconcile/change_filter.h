#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "services/common/mutex.h"

namespace muster::lifecycle {

// Filters what one service's watch tells. A resource is no news if the watch told it so before (a
// snapshot after a reconnect), or if the service's answer to our own request showed it so. Kept in
// memory only: after a start everything is news. Thread-safe.
class ChangeFilter {
 public:
  // A resource as the watch tells it.
  struct News {
    int64_t revision = 0;    // of its last change
    int64_t generation = 0;  // of the last request that changed it; 0: there are none of ours
    size_t print = 0;        // a fingerprint of what the watch shows of it
  };

  // `whole`: the watch shows all that an answer does. If not, a further change under the same
  // generation is news even if it looks the same.
  explicit ChangeFilter(bool whole) : whole_(whole) {}

  // --- the watch ---
  void BeginSnapshot() {
    MutexLock lock(mutex_);
    ++snapshot_;
  }
  // Forgets what the snapshot did not tell of: it was deleted while no stream was open. Returns its
  // keys: that it is gone is news.
  std::vector<std::string> EndSnapshot() {
    std::vector<std::string> gone;
    MutexLock lock(mutex_);
    for (auto it = known_.begin(); it != known_.end();) {
      const auto at = it++;
      const Known& known = at->second;
      if (known.snapshot == snapshot_ || known.asking) continue;
      // What was asked for and refused was never there.
      if (known.told.print != 0 || known.answered != 0) gone.push_back(at->first);
      known_.erase(at);
    }
    return gone;
  }
  // False: it says nothing new, or a request is under way whose answer may say so (see Answered).
  bool IsNews(absl::string_view key, const News& news) {
    MutexLock lock(mutex_);
    Known& known = known_[key];
    known.snapshot = snapshot_;
    if (known.told.revision == news.revision && known.told.print == news.print) return false;
    const bool same_request = known.told.revision != 0 && known.told.generation == news.generation;
    known.told = news;
    if (known.asking) {
      known.waits = true;
      known.unexplained |= same_request && !whole_;
      return false;
    }
    return known.answered != news.print || (same_request && !whole_);
  }
  // As it was told last; 0: it was not.
  size_t PrintOf(absl::string_view key) const {
    MutexLock lock(mutex_);
    const auto it = known_.find(key);
    return it == known_.end() ? 0 : it->second.told.print;
  }
  void Forget(absl::string_view key) {
    MutexLock lock(mutex_);
    known_.erase(key);
  }

  size_t size() const {
    MutexLock lock(mutex_);
    return known_.size();
  }

  // --- requests ---
  // A request about the resource begins: until Answered, news of it are held back.
  void Asking(absl::string_view key) {
    MutexLock lock(mutex_);
    Known& known = known_[key];
    known.snapshot = snapshot_;
    known.asking = true;
  }
  // The request is over. `print`: of what the answer showed; 0: there was no answer. `release`: it
  // asked for the end of the resource, and a watch that has not told of it may never tell that it
  // is gone. True: what the watch told meanwhile is news.
  bool Answered(absl::string_view key, size_t print, bool release = false) {
    MutexLock lock(mutex_);
    const auto it = known_.find(key);
    if (it == known_.end()) return false;  // deleted meanwhile, which is told
    Known& known = it->second;
    const bool explained = print != 0 && print == known.told.print && !known.unexplained;
    const bool news = known.waits && !explained;
    if (print != 0) known.answered = print;
    known.asking = known.waits = known.unexplained = false;
    if (release && known.told.revision == 0) known_.erase(it);
    return news;
  }

 private:
  struct Known {
    News told = {};
    size_t answered = 0;
    uint64_t snapshot = 0;     // in which it was told last
    bool asking = false;       // a request is under way
    bool waits = false;        // news came meanwhile
    bool unexplained = false;  // and no answer can tell what they are
  };

  const bool whole_;
  mutable Mutex mutex_;
  uint64_t snapshot_ MUSTER_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<std::string, Known> known_ MUSTER_GUARDED_BY(mutex_);  // by key
};

}  // namespace muster::lifecycle
