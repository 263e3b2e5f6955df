#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

namespace muster {

// How many rows an empty state has once a row that never was is deleted from each of its tables, as
// a journal may say after its history was replaced in place.
template <class State>
int64_t RowsAfterAbsentOnesGo() {
  using Row = decltype(State::Change::row);
  State state;
  [&state]<size_t... kKinds>(std::index_sequence<kKinds...>) {
    (state.Apply({"nosuch", Row(std::in_place_index<kKinds>)}, 1), ...);
  }
  (std::make_index_sequence<std::variant_size_v<Row>>());
  int64_t rows = 0;
  state.ForEach([&](const auto&) { ++rows; });
  return rows;
}

}  // namespace muster
