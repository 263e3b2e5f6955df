#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace muster::page {

// Which rows changed after which position. Each row is told once, at its last change: a slow reader
// gets fewer rows, and the log does not grow with the number of changes. Not thread-safe.
class ChangeLog {
 public:
  using Row = uint32_t;

  // Notes that the row changed now. Returns the position of the change, from 1.
  uint64_t Touch(Row row);
  // Forgets the row: it is told to nobody any more.
  void Drop(Row row);
  // The position of the last change; 0: there was none.
  uint64_t last() const { return last_; }
  // The position of the row's last change; 0: the row is not known.
  uint64_t PositionOf(Row row) const;

  // Calls f(row, position) for rows whose last change is after `position`, in order, at most
  // `most`. Returns the position up to which all is told: last(), or that of the last row if more
  // are left.
  template <class F>
  uint64_t TellAfter(uint64_t position, size_t most, F f) const {
    uint64_t told = last_;
    size_t count = 0;
    for (size_t i = FirstAfter(position); i < entries_.size(); ++i) {
      const Entry& entry = entries_[i];
      if (PositionOf(entry.row) != entry.position) continue;
      if (count++ == most) return told;
      f(entry.row, entry.position);
      told = entry.position;
    }
    return last_;
  }

  // Entries kept, outdated ones included: at most twice the rows and some.
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    uint64_t position = 0;
    Row row = 0;
  };

  size_t FirstAfter(uint64_t position) const;
  void Tidy();

  uint64_t last_ = 0;
  std::vector<Entry> entries_;  // by position; outdated where the row changed again
  absl::flat_hash_map<Row, uint64_t> positions_;
};

}  // namespace muster::page
