#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/books.h"
#include "services/lifecycle/core/testing/simulation.h"

// For tests: books of the four services.
namespace muster::lifecycle {

// Of `pools` pools p0, p1, ... with uids uid-0, uid-1, ..., three Nodes each, that differ in
// nothing.
inline Books ClosedBooks(size_t pools) {
  Books books;
  for (size_t i = 0; i < pools; ++i) {
    const std::string uid = absl::StrCat("uid-", i);
    PoolEntry pool{uid,
                   absl::StrCat("organizations/acme/clusters/c1/nodePools/p", i),
                   "acme",
                   "US-EAST-04A",
                   "gd-8xa100-i128",
                   "default",
                   3,
                   3,
                   3,
                   {}};
    ClaimEntry claim{uid, pool.zone, pool.instance_type, pool.compute_class, {}, 2, pool.name};
    for (int machine = 0; machine < 3; ++machine) {
      claim.machines.push_back(absl::StrCat("m-", i, "-", machine));
      pool.nodes.push_back({claim.machines.back(), false});
    }
    books.holdings.push_back(
        {uid,
         absl::StrCat("organizations/acme/quotas/US-EAST-04A~gd-8xa100-i128~default/holdings/",
                      uid),
         "acme", pool.zone, pool.instance_type, pool.compute_class, 3, 2, pool.name});
    books.claims.push_back(std::move(claim));
    books.configurations.push_back({uid, 1});
    books.pools.push_back(std::move(pool));
  }
  return books;
}

// Of the simulation's one pool as it is now.
inline Books BooksOf(const Simulation& sim) {
  Books books;
  PoolEntry key{"uid-1", kSimPool, "acme", "US-EAST-04A", "gd-8xa100-i128", "default"};
  if (sim.pool() != nullptr) {
    key = EntryOf(*sim.pool(), sim.state().NodesOf(kSimPool));
    books.pools.push_back(key);
    books.configurations.push_back({key.uid, 1});
  }
  if (sim.has_holding()) {
    books.holdings.push_back({key.uid, "the holding", key.organization, key.zone, key.instance_type,
                              key.compute_class, sim.holding(), 1, key.name});
  }
  if (sim.has_claim()) {
    books.claims.push_back({key.uid,
                            key.zone,
                            key.instance_type,
                            key.compute_class,
                            {sim.machines().begin(), sim.machines().end()},
                            1,
                            key.name});
  }
  return books;
}

}  // namespace muster::lifecycle
