#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "services/common/pieces.h"
#include "services/common/state.h"
#include "storage/postgres/auditor.h"

namespace muster::storage {

// Appends a sentence, which begins with `where`, if the row of `key` is another than `twin`, which
// may be null: then only with `missing_too`. Not beyond kMaxViolations.
template <class Row>
void AppendDifference(absl::string_view where, absl::string_view key, const Row& row,
                      int64_t revision, const Versioned<Row>* twin, bool missing_too,
                      std::vector<std::string>& differences) {
  if (twin == nullptr && !missing_too) return;
  if (twin != nullptr && *twin->row == row && twin->revision == revision) return;
  if (differences.size() >= kMaxViolations) return;
  differences.push_back(
      absl::StrCat(where, ": ", Row::kKind, " ", key, " at revision ", revision,
                   twin == nullptr ? " is missing in the other"
                                   : absl::StrCat(" differs from the other at ", twin->revision)));
}

// The same for each row of `state`.
template <class State>
void AppendDifferences(absl::string_view where, const State& state, const State& other,
                       bool missing_too, std::vector<std::string>& differences) {
  state.ForEach([&](const auto& row) {
    std::visit(
        [&](const auto& pointer) {
          using Row = std::remove_const_t<
              typename std::remove_reference_t<decltype(pointer)>::element_type>;
          AppendDifference<Row>(where, row.change.key, *pointer, row.revision,
                                other.template table<Row>().FindVersioned(row.change.key),
                                missing_too, differences);
        },
        row.change.row);
  });
}

// Rows of one kind that follow each other, by key.
template <class Row>
struct RowRange {
  std::string last = {};  // the key up to which they are all rows; empty: to the end
  std::vector<std::pair<std::string, Versioned<Row>>> rows = {};

  const Versioned<Row>* Find(absl::string_view key) const {
    const auto at = std::lower_bound(
        rows.begin(), rows.end(), key,
        [](const auto& row, absl::string_view of) { return absl::string_view(row.first) < of; });
    return at == rows.end() || at->first != key ? nullptr : &at->second;
  }
};

// The rows after the key `after` (empty: from the first one), a piece of them.
template <class Row>
RowRange<Row> PieceAfter(const Table<Row>& table, const std::string& after) {
  RowRange<Row> piece;
  piece.last =
      ForSomeUnder(table, "", after, kPiece, [&](absl::string_view key, const Versioned<Row>& row) {
        piece.rows.emplace_back(std::string(key), row);
      });
  return piece;
}

// The rows after the key `after` up to `last`, as of a RowRange.
template <class Row>
RowRange<Row> RowsBetween(const Table<Row>& table, const std::string& after,
                          const std::string& last) {
  RowRange<Row> range{.last = last};
  auto at = after.empty() ? table.rows().begin() : table.rows().upper_bound(after);
  for (; at != table.rows().end() && (last.empty() || at->first <= last); ++at)
    range.rows.emplace_back(std::string(at->first), at->second);
  return range;
}

template <class Row>
void AppendDifferences(absl::string_view where, const RowRange<Row>& range,
                       const RowRange<Row>& other, std::vector<std::string>& differences) {
  for (const auto& [key, row] : range.rows)
    AppendDifference<Row>(where, key, *row.row, row.revision, other.Find(key), true, differences);
}

}  // namespace muster::storage
