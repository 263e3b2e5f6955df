#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/musterctl/client/api_types.h"

namespace muster::musterctl {

// Puts the messages of one or, after breaks, several Watch streams together to what changed, each
// once. Pure.
class WatchView {
 public:
  struct Change {
    std::string name = {};
    std::optional<Item> item = {};  // none: it is gone
  };

  // A stream begins; from here if it could go on after the last one, else with a snapshot.
  type::v1::WatchStart Begin();
  // The next stream must begin with a snapshot: the revision was compacted away, or the history was
  // replaced.
  void Forget() { start_.Clear(); }
  // That change was not shown: the next snapshot tells of it again.
  void Unsee(const std::string& name) { known_[name].clear(); }
  // What is new by this message. The whole snapshot comes at its end, by name; later ones only as
  // far as they differ.
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
