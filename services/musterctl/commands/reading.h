#pragma once

#include <functional>
#include <string>
#include <vector>

#include "services/musterctl/commands/output.h"

// What the commands that show resources share: get, events, describe.
namespace muster::musterctl {

// Sorts events by time; everything else is in order of name already.
void SortEvents(std::vector<Item>& items);

// Whether the item is this NodePool, one of its Nodes, or an event about either. `pool`: id or
// whole name; empty: always true.
bool OfPool(const Item& item, const std::string& pool);

// What a watch shows: the resources of the range for which `fits` is true.
struct Watched {
  WatchRange range = {};
  std::function<bool(const Item&)> fits = {};
};
// Watches and prints until interrupted; reconnects. NOT_FOUND: nothing is there because the cluster
// does not exist. Several cells are watched each by itself: that one is lost is reported, and the
// others go on.
absl::Status WatchKind(Session& session, const Watched& watched, Printer& printer);

}  // namespace muster::musterctl
