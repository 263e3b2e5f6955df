#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/pieces.h"

// The audit of a lane's memory while others commit: the indexes, too, are read a part at a time.
namespace muster {

// What is wrong, a sentence each, with a part of memory's indexes that was copied, beside `tables`:
// a state of the same rows, whose indexes were made from these alone.
template <class State>
using IndexComparison = std::function<std::vector<std::string>(const State& tables)>;
// Copies a part of memory's indexes, while commits wait: a fraction of a millisecond.
template <class State>
using IndexPart = std::function<IndexComparison<State>(const State& memory)>;

// How a domain's memory is audited.
template <class State>
struct StateAudit {
  // What is wrong with the rows of a state, and with indexes that were just made from them. Null:
  // nothing.
  std::function<std::vector<std::string>(const State&)> rules = {};
  // The parts that the indexes of memory have, whose rows are about those of `tables`. Null: none.
  std::function<std::vector<IndexPart<State>>(const State& tables)> parts = {};
};

// The part that `get(state)` copies; it owns what it copied.
template <class State, class Get>
IndexPart<State> PartOf(std::string what, Get get) {
  return [what = std::move(what), get](const State& memory) -> IndexComparison<State> {
    return [what, get, copy = get(memory)](const State& tables) -> std::vector<std::string> {
      if (copy == get(tables)) return {};
      return {absl::StrCat(what, ": the index is not the one that the rows give.")};
    };
  };
}

// Adds the parts of the sorted set that `get(state)` refers to: its elements by ranges, those of
// which `tables` tells the ends.
template <class State, class Get>
void AddRanges(const State& tables, const std::string& what, Get get,
               std::vector<IndexPart<State>>& parts) {
  using Element = typename std::decay_t<decltype(get(tables))>::value_type;
  const auto add = [&](const std::optional<Element>& from, const std::optional<Element>& to) {
    parts.push_back(PartOf<State>(what, [get, from, to](const State& state) {
      const auto& all = get(state);
      return std::vector<Element>(from ? all.lower_bound(*from) : all.begin(),
                                  to ? all.lower_bound(*to) : all.end());
    }));
  };
  std::optional<Element> from;
  size_t seen = 0;
  for (const Element& element : get(tables)) {
    if (seen++ % kPiece != 0 || seen == 1) continue;
    add(from, element);
    from = element;
  }
  add(from, std::nullopt);
}

}  // namespace muster
