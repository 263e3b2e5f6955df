#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace muster::page {

// Gives each of the names that many cells share a number; that of "" is 0. A word is never
// forgotten. Not thread-safe.
class Words {
 public:
  Words() { NumberOf("", 0); }

  // The number of a word, which is added if it is new; `position` is then that of the change that
  // tells it first.
  uint32_t NumberOf(absl::string_view word, uint64_t position) {
    const auto [found, is_new] = numbers_.try_emplace(word, static_cast<uint32_t>(all_.size()));
    if (is_new) all_.push_back({std::string(word), position});
    return found->second;
  }
  const std::string& at(uint32_t number) const { return all_[number].text; }
  size_t size() const { return all_.size(); }

  // How many words a reader knows who has everything up to `position`.
  size_t ToldBy(uint64_t position) const {
    const auto end = std::partition_point(
        all_.begin(), all_.end(), [&](const Word& word) { return word.position <= position; });
    return static_cast<size_t>(end - all_.begin());
  }

 private:
  struct Word {
    std::string text;
    uint64_t position = 0;  // never falls
  };
  std::vector<Word> all_;
  absl::flat_hash_map<std::string, uint32_t> numbers_;
};

}  // namespace muster::page
