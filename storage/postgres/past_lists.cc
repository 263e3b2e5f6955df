#include "storage/postgres/past_lists.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "services/common/collections.h"

namespace muster::storage {

bool PastScope::Has(absl::string_view key) const {
  return absl::StartsWith(key, prefix) && (collection.empty() || CollectionOf(key) == collection);
}

PastList::PastList(const std::map<std::string, int64_t>& revisions) {
  size_t bytes = 0;
  for (const auto& [key, revision] : revisions) bytes += key.size();
  keys_.reserve(bytes);
  entries_.reserve(revisions.size());
  for (const auto& [key, revision] : revisions) {
    keys_ += key;
    entries_.push_back({keys_.size(), revision});
  }
}

absl::string_view PastList::key(size_t i) const {
  const size_t begin = i == 0 ? 0 : entries_[i - 1].end;
  return absl::string_view(keys_).substr(begin, entries_[i].end - begin);
}

size_t PastList::FindAfter(absl::string_view key) const {
  size_t first = 0;
  size_t last = size();
  while (first < last) {
    const size_t middle = first + (last - first) / 2;
    if (this->key(middle) <= key) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

PastLists::Lists::iterator PastLists::FindKept(const Id& id) {
  return std::find_if(lists_.begin(), lists_.end(),
                      [&](const Kept& kept) { return kept.id == id; });
}

void PastLists::Drop(Lists::iterator kept) {
  bytes_ -= BytesOf(*kept);
  lists_.erase(kept);
}

std::shared_ptr<const PastList> PastLists::Find(const Id& id, Time now) {
  MutexLock lock(mutex_);
  const auto kept = FindKept(id);
  if (kept == lists_.end()) return nullptr;
  kept->read = now;
  lists_.splice(lists_.begin(), lists_, kept);
  return kept->list;
}

void PastLists::Keep(Id id, std::shared_ptr<const PastList> list, Time now) {
  MutexLock lock(mutex_);
  const auto before = FindKept(id);
  if (before != lists_.end()) Drop(before);
  lists_.push_front({std::move(id), std::move(list), now});
  bytes_ += BytesOf(lists_.front());
  if (BytesOf(lists_.front()) > most_bytes_) return Drop(lists_.begin());
  while (bytes_ > most_bytes_ || lists_.size() > kMostPastLists) Drop(std::prev(lists_.end()));
}

void PastLists::DropOld(Time now) {
  MutexLock lock(mutex_);
  while (!lists_.empty() && now - lists_.back().read >= kPastKeepTime)
    Drop(std::prev(lists_.end()));
}

size_t PastLists::bytes() const {
  MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace muster::storage
