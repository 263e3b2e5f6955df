#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "services/lifecycle/core/types.h"

namespace muster::lifecycle {

// Finds machines in a sorted list, whether they are asked for in order or not; each at the cost of
// a comparison or two when they are. The list must outlive it.
template <class Element>  // std::string, or const Node*: sorted by machine
class MachineCursor {
 public:
  explicit MachineCursor(const std::vector<Element>& sorted) : sorted_(sorted) {}

  // Null when there is none.
  const Element* Find(const std::string& machine) {
    if (!IsAt(machine)) {
      const bool after = at_ == 0 || MachineOf(sorted_[at_ - 1]) < machine;
      const bool before = at_ == sorted_.size() || machine < MachineOf(sorted_[at_]);
      if (after && before) return nullptr;
      const auto it = std::lower_bound(
          sorted_.begin(), sorted_.end(), machine,
          [](const Element& element, const std::string& m) { return MachineOf(element) < m; });
      at_ = static_cast<size_t>(it - sorted_.begin());
      if (!IsAt(machine)) return nullptr;
    }
    return &sorted_[at_++];
  }

 private:
  static const std::string& MachineOf(const std::string& machine) { return machine; }
  static const std::string& MachineOf(const Node* node) { return node->machine; }
  bool IsAt(const std::string& machine) const {
    return at_ < sorted_.size() && MachineOf(sorted_[at_]) == machine;
  }

  const std::vector<Element>& sorted_;
  size_t at_ = 0;  // behind the element found last, or where a machine that is missing would stand
};

}  // namespace muster::lifecycle
