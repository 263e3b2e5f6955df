#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "services/common/state.h"

// Reads a whole table while others commit: a piece at a time.
namespace muster {

// Rows that are read at once: a fraction of a millisecond.
inline constexpr size_t kPiece = 1'000;

// Calls f(key, const Versioned<Row>&) for at most `most` rows whose keys begin with `prefix` and
// are above `after`. Returns the key of the last of them when there may be more, else an empty one.
template <class Row, class F>
std::string ForSomeUnder(const Table<Row>& table, absl::string_view prefix, absl::string_view after,
                         size_t most, F f) {
  size_t seen = 0;
  auto it = after.empty() ? table.rows().lower_bound(prefix) : table.rows().upper_bound(after);
  for (; it != table.rows().end() && absl::StartsWith(it->first, prefix); ++it) {
    f(it->first, it->second);
    if (++seen == most) return std::string(it->first);
  }
  return "";
}

// The same for rows of any key, with f(key, row).
template <class Row, class F>
std::string ForSome(const Table<Row>& table, absl::string_view after, size_t most, F f) {
  return ForSomeUnder(table, "", after, most,
                      [&](absl::string_view key, const Versioned<Row>& it) { f(key, *it.row); });
}

// Calls f(state, key, row) for every row of a lane's memory. Each piece is as of its own moment,
// and commits wait for one piece at most: for figures, not for decisions.
template <class Row, class Lane, class F>
void ForAllInPieces(const Lane& lane, F f) {
  std::string after;
  do {
    after = lane.Peek([&](const auto& state, int64_t) {
      return ForSome(state.template table<Row>(), after, kPiece,
                     [&](absl::string_view key, const Row& row) { f(state, key, row); });
    });
  } while (!after.empty());
}

}  // namespace muster
