#pragma once

#include <functional>
#include <string>
#include <vector>

#include "services/musterctl/commands/output.h"

// What the commands that show resources share: get, events, describe.
namespace muster::musterctl {

// Events are read in order of time, all else by name.
void SortEvents(std::vector<Item>& items);

// A NodePool, its Nodes, and events about them. `pool`: its id or whole name; empty: all.
bool OfPool(const Item& item, const std::string& pool);

// What is followed: resources of the range that fit.
struct Watched {
  WatchRange range = {};
  std::function<bool(const Item&)> fits = {};
};
// Goes on until interrupted; reconnects. NOT_FOUND: nothing is there, because its cluster is not. Of several cells each is followed by
// itself: of one that is lost it is said, and the others go on.
absl::Status WatchKind(Session& session, const Watched& watched, Printer& printer);

}  // namespace muster::musterctl
