#pragma once

#include <string>
#include <utility>
#include <vector>

#include "services/common/index_parts.h"

// For tests of a domain's IndexParts.
namespace muster {

// What `parts` tell of memory's indexes beside those of `tables`.
template <class State>
std::vector<std::string> CompareIndexes(const std::vector<IndexPart<State>>& parts,
                                        const State& memory, const State& tables) {
  std::vector<std::string> faults;
  for (const IndexPart<State>& part : parts) {
    for (std::string& fault : part(memory)(tables)) faults.push_back(std::move(fault));
  }
  return faults;
}

// A state of the same rows, whose indexes were made from these alone.
template <class State>
State Rebuild(const State& state) {
  State rebuilt;
  state.ForEach([&](const auto& row) { rebuilt.Apply(row.change, row.revision); });
  return rebuilt;
}

}  // namespace muster
