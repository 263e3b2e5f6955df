#pragma once

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/state.h"
#include "services/configuration/core/types.h"

// Promotions and rollbacks.
namespace muster::configuration {

// A pool after an order, and the order as it stands.
struct Ordered {
  PoolConfiguration pool = {};
  Order order = {};
};

// Gives an order to a pool. `requested`: a profile id, `pending` (promote) or `previous`
// (rollback).
//  * an order of the other kind waits: both are dropped, kConflict;
//  * the same order waits: nothing changes, and it is answered again;
//  * another order of its kind waits: that one is kReplaced;
//  * promote: what is pending, unless it is disabled, else kNoPending;
//  * rollback: a revision that is neither the active one nor disabled, else kRollbackFailed. The
//  active one is pinned, and what the strategy made wait too. `previous` passes over those that are
//  disabled and those of `withdrawn`, profile ids (see WithdrawnOf).
// What it comes to becomes active at once, or waits while Nodes are in delivery. The order is kept
// in pool.orders, whatever its outcome. Pure; what is pending afterwards is for Next.
Ordered GiveOrder(PoolConfiguration pool, const Table<NodeProfile>& profiles, OrderKind kind,
                  absl::string_view requested, absl::Time now,
                  const std::set<std::string>& withdrawn);

// A promotion and a rollback that were ordered at the same time: both are dropped, and so is an
// order that waits: kConflict. Two orders record it, one of which may be the one that waited. A
// profile that the strategy made wait goes on waiting. Returns the last of the orders. Pure; what
// is pending afterwards is for Next.
Ordered GiveBoth(PoolConfiguration pool, absl::string_view promotion, absl::string_view rollback,
                 absl::Time now);

// The error that an order's caller gets: FAILED_PRECONDITION with NO_PENDING_CONFIGURATION,
// ROLLBACK_FAILED or CONFIGURATION_CONFLICT; OK when it is done or waits.
absl::Status Refusal(const PoolConfiguration& pool, const Order& order);

}  // namespace muster::configuration
