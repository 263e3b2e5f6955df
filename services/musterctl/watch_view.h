#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/musterctl/api.h"

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
  std::optional<int64_t> Begin();
  // The next stream must begin with a snapshot: the revision was compacted away.
  void Forget() { revision_.reset(); }
  // What is new by this message. The whole snapshot comes at its end, by name; later ones only as
  // far as they differ.
  std::vector<Change> Feed(const WatchMessage& message);

 private:
  std::vector<Change> EndSnapshot(int64_t revision);
  bool Remember(const Item& item);

  std::map<std::string, std::string> known_;  // resources by name, serialized
  std::map<std::string, Item> snapshot_;
  std::optional<int64_t> revision_;
};

}  // namespace muster::musterctl
