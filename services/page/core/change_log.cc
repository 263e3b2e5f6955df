#include "services/page/core/change_log.h"

#include <algorithm>

namespace muster::page {
namespace {

// With fewer entries tidying is not worth the effort.
constexpr size_t kFewEntries = 1024;

}  // namespace

uint64_t ChangeLog::Touch(Row row) {
  entries_.push_back({++last_, row});
  positions_[row] = last_;
  Tidy();
  return last_;
}

void ChangeLog::Drop(Row row) {
  positions_.erase(row);
  Tidy();
}

uint64_t ChangeLog::PositionOf(Row row) const {
  const auto found = positions_.find(row);
  return found == positions_.end() ? 0 : found->second;
}

size_t ChangeLog::FirstAfter(uint64_t position) const {
  const auto first =
      std::upper_bound(entries_.begin(), entries_.end(), position,
                       [](uint64_t value, const Entry& entry) { return value < entry.position; });
  return static_cast<size_t>(first - entries_.begin());
}

void ChangeLog::Tidy() {
  if (entries_.size() <= 2 * positions_.size() + kFewEntries) return;
  std::erase_if(entries_,
                [this](const Entry& entry) { return PositionOf(entry.row) != entry.position; });
}

}  // namespace muster::page
