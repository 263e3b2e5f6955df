#pragma once

#include <vector>

#include "services/musterctl/top/fleet.h"
#include "services/musterctl/top/section.h"
#include "services/musterctl/top/trouble.h"
#include "services/musterctl/top/view.h"

// The page's tables.
namespace muster::musterctl::top {

// The fullest first: a bar for what is held of the limit in force, what is refused, overrides.
Section QuotaTable(const Fleet& fleet, const View& view);
// Claims that wait, the oldest first, then the clocks of machines that are taken back from spot.
Section QueueTable(const Fleet& fleet, const View& view);
// From `view.first_trouble` on.
Section PoolTable(const Fleet& fleet, const View& view, const std::vector<Trouble>& troubles);

}  // namespace muster::musterctl::top
