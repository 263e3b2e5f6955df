#pragma once

#include <vector>

#include "services/musterctl/top/fleet.h"
#include "services/musterctl/top/section.h"
#include "services/musterctl/top/trouble.h"
#include "services/musterctl/top/view.h"

// The page's tables.
namespace muster::musterctl::top {

// Quotas, the fullest first: a bar for the share of the limit in force that is held, refusals,
// overrides.
Section QuotaTable(const Fleet& fleet, const View& view);
// Claims that wait, the oldest first, then the clocks of machines that are reclaimed from spot
// pools.
Section QueueTable(const Fleet& fleet, const View& view);
// The pools in trouble, from number `view.first_trouble` on.
Section PoolTable(const Fleet& fleet, const View& view, const std::vector<Trouble>& troubles);

}  // namespace muster::musterctl::top
