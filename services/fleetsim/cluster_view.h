#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/kubernetes/api/last_seen.h"

namespace muster::fleetsim {

// The objects of one collection as last seen, ordered by machine. Their `Object::key()` is the pair
// of machine and the rest of the key. Not thread-safe.
template <class Object>
class ClusterView : public kubernetes::LastSeen<Object, std::pair<std::string, std::string>> {
 public:
  using kubernetes::LastSeen<Object, std::pair<std::string, std::string>>::LastSeen;

  std::vector<const Object*> OnMachine(absl::string_view machine) const {
    std::vector<const Object*> found;
    const std::string name(machine);
    for (auto it = this->objects().lower_bound({name, ""});
         it != this->objects().end() && it->first.first == name; ++it) {
      found.push_back(it->second.get());
    }
    return found;
  }
};

}  // namespace muster::fleetsim
