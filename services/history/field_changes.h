#pragma once

#include <google/protobuf/message.h>

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace muster::history {

// A field of a message, or an element of a list or map, in which two messages differ.
struct FieldChange {
  std::string path = {};    // e.g. `spec.nodes`, `taints[0].key`, `labels[team]`
  std::string before = {};  // empty: not set
  std::string after = {};   // empty: not set

  friend bool operator==(const FieldChange&, const FieldChange&) = default;
};

// The changes from `before` to `after`, two messages of one type, in order of their fields; at most
// the first `most`. Elements of lists are compared by their place.
std::vector<FieldChange> FieldChangesOf(const google::protobuf::Message& before,
                                        const google::protobuf::Message& after,
                                        size_t most = std::numeric_limits<size_t>::max());

}  // namespace muster::history
