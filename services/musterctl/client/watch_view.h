#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/musterctl/client/api_types.h"

namespace muster::musterctl {

// Turns the messages of one Watch stream, or of several that followed each other after breaks, into
// changes, each told once. Pure.
class WatchView {
 public:
  struct Change {
    std::string name = {};
    std::optional<Item> item = {};  // none: it is gone
  };

  // Where the next stream is to start: after the last message if it can be resumed there, else with
  // a snapshot.
  type::v1::WatchStart Begin();
  // The next stream must begin with a snapshot: the revision was compacted away, or the history was
  // replaced.
  void Forget() { start_.Clear(); }
  // The last change of this resource was not shown: the next snapshot reports it again.
  void Unsee(const std::string& name) { known_[name].clear(); }
  // The changes that this message brings. A snapshot is returned as a whole at its end, sorted by
  // name; of a later snapshot only the differences.
  std::vector<Change> Feed(const WatchMessage& message);

 private:
  void GoOnAfter(const WatchMessage& message);
  std::vector<Change> EndSnapshot();
  bool Remember(const Item& item);

  std::map<std::string, std::string> known_;  // resources by name, serialized
  std::map<std::string, Item> snapshot_;
  type::v1::WatchStart start_;
};

}  // namespace muster::musterctl
