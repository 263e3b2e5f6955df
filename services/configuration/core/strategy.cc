#include "services/configuration/core/strategy.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/configuration/core/limits.h"
#include "services/configuration/core/names.h"
#include "services/configuration/core/profile.h"

namespace muster::configuration {
namespace {

template <class Pool>
auto FindRevisionIn(Pool& pool, absl::string_view profile) {
  const auto found =
      std::find_if(pool.revisions.begin(), pool.revisions.end(),
                   [&](const Revision& revision) { return revision.node_profile == profile; });
  return found == pool.revisions.end() ? nullptr : &*found;
}

template <class Pool>
auto WaitingOrderIn(Pool& pool) {
  const auto found = std::find_if(pool.orders.begin(), pool.orders.end(), [](const Order& order) {
    return order.outcome == OrderOutcome::kWaiting;
  });
  return found == pool.orders.end() ? nullptr : &*found;
}

// True when something waits that was not asked for by name.
bool WaitsUnnamed(const PoolConfiguration& pool) {
  if (!pool.has_waiting()) return false;
  const Order* order = WaitingOrder(pool);
  return order == nullptr ||
         (order->kind == OrderKind::kPromote && order->requested == kPendingWord);
}

bool RollbackWaits(const PoolConfiguration& pool) {
  const Order* order = WaitingOrder(pool);
  return order != nullptr && order->kind == OrderKind::kRollback;
}

// True when `profile` takes the place of what waits, whatever the strategy: it is active already,
// or it is newer than what an order found by the word and nothing was kept apart as pending (such
// as a change of the spec under Manual), nor would have been, could it have been met. What waits
// without an order was not asked to follow releases.
bool TakesOver(const PoolConfiguration& pool, absl::string_view profile, Trigger trigger) {
  if (!WaitsUnnamed(pool)) return false;
  if (profile == pool.active()) return true;
  return WaitingOrder(pool) != nullptr && trigger == Trigger::kUpstream && !pool.has_pending() &&
         !pool.spec_unmet;
}

void Unpin(PoolConfiguration& pool, const std::string& profile) {
  pool.pinned.erase(std::remove(pool.pinned.begin(), pool.pinned.end(), profile),
                    pool.pinned.end());
}

// A profile that comes back moves to the end, so that the list stays a list of profiles and cannot
// grow by going to and fro.
void Stage(PoolConfiguration& pool, Revision revision) {
  auto& revisions = pool.revisions;
  if (const Revision* same = FindRevision(pool, revision.node_profile)) {
    revision.disabled = same->disabled;
    revision.enable_count = same->enable_count;
    revisions.erase(revisions.begin() + (same - revisions.data()));
  }
  Unpin(pool, revision.node_profile);
  revisions.push_back(std::move(revision));
  if (revisions.size() > kMostRevisions) revisions.erase(revisions.begin());
}

// The strategy's decision: `to` is what is to be active.
void Switch(PoolConfiguration& pool, Revision to) {
  const bool unnamed = WaitsUnnamed(pool);
  const bool back = to.node_profile == pool.active();
  if (Order* order = WaitingOrder(pool)) {
    if (unnamed && !back) {
      order->node_profile = to.node_profile;
    } else {
      order->outcome = OrderOutcome::kReplaced;
      order->message = absl::StrCat("The pool came to want ", to.node_profile, " instead.");
    }
  }
  DropWaiting(pool);
  if (!back) pool.waiting = std::move(to);
}

void SetPending(PoolConfiguration& pool, const Table<NodeProfile>& profiles,
                const NodeProfile& wanted, absl::Time now) {
  if (wanted.id == pool.active() || wanted.id == pool.waiting.node_profile) {
    pool.pending = {};
    return;
  }
  const NodeProfile* active = profiles.Find(NodeProfileName(pool.active()));
  pool.pending = {wanted.id, MadeAt(pool, wanted.id, now), Summary(active, wanted)};
}

}  // namespace

Revision* FindRevision(PoolConfiguration& pool, absl::string_view profile) {
  return FindRevisionIn(pool, profile);
}
const Revision* FindRevision(const PoolConfiguration& pool, absl::string_view profile) {
  return FindRevisionIn(pool, profile);
}
Order* WaitingOrder(PoolConfiguration& pool) { return WaitingOrderIn(pool); }
const Order* WaitingOrder(const PoolConfiguration& pool) { return WaitingOrderIn(pool); }

absl::Time MadeAt(const PoolConfiguration& pool, absl::string_view profile, absl::Time now) {
  if (const Revision* revision = FindRevision(pool, profile)) return revision->create_time;
  for (const Revision* revision : {&pool.waiting, &pool.pending}) {
    if (revision->node_profile == profile) return revision->create_time;
  }
  return now;
}

bool IsPinned(const PoolConfiguration& pool, absl::string_view profile) {
  return std::find(pool.pinned.begin(), pool.pinned.end(), profile) != pool.pinned.end();
}

bool IsDisabled(const PoolConfiguration& pool, absl::string_view profile) {
  const Revision* revision = FindRevision(pool, profile);
  return revision != nullptr && revision->disabled;
}

bool StagedAtOnce(const PoolConfiguration& pool, absl::string_view profile, Trigger trigger) {
  if (pool.revisions.empty()) return true;
  if (IsPinned(pool, profile) || IsDisabled(pool, profile)) return false;
  if (TakesOver(pool, profile, trigger)) return true;
  switch (pool.spec.strategy) {
    case Strategy::kManual:
      return false;
    case Strategy::kOnSpecUpdate:
      return trigger == Trigger::kSpec || pool.spec_unmet;
    case Strategy::kAlways:
      return true;
  }
  return false;
}

void DropWaiting(PoolConfiguration& pool) {
  pool.waiting = {};
  if (!IsPinned(pool, pool.active())) return;
  Unpin(pool, pool.active());
  // A rollback that was carried out has left a revision pinned, and the rest may be its pins.
  const bool of_earlier = std::any_of(
      pool.pinned.begin(), pool.pinned.end(),
      [&](const std::string& profile) { return FindRevision(pool, profile) != nullptr; });
  if (of_earlier) return;
  if (IsPinned(pool, pool.pending.node_profile)) {
    pool.waiting = std::exchange(pool.pending, {});
  } else if (!pool.pinned.empty()) {
    // Something newer has become pending in the place of what waited: the spec is met by that.
    pool.spec_unmet = true;
  }
  pool.pinned.clear();
}

void StageWaiting(PoolConfiguration& pool) {
  if (!pool.has_waiting() || (pool.mid_delivery && !pool.revisions.empty())) return;
  if (Order* order = WaitingOrder(pool)) {
    order->outcome = OrderOutcome::kDone;
    order->message = absl::StrCat(order->node_profile, " is the active profile.");
  }
  Stage(pool, std::exchange(pool.waiting, {}));
}

PoolConfiguration Next(PoolConfiguration pool, const Table<NodeProfile>& profiles,
                       const Resolution& resolution, Trigger trigger, absl::Time now,
                       bool waiting_withdrawn) {
  if (!resolution.problem.empty()) {
    StageWaiting(pool);
    const bool kept_apart =
        pool.spec.strategy == Strategy::kManual && pool.has_waiting() && pool.has_pending();
    pool.spec_unmet = pool.spec_unmet || trigger == Trigger::kSpec || kept_apart;
    pool.problem = resolution.problem;
    pool.problem_of_spec = resolution.of_spec;
    pool.pending = {};
    return pool;
  }
  const NodeProfile& wanted = resolution.profile;
  // What it has had before is nothing newer, unless the spec asks for it.
  const bool of_spec = trigger == Trigger::kSpec || pool.spec_unmet;
  const bool ends_pins =
      !IsPinned(pool, wanted.id) && (of_spec || FindRevision(pool, wanted.id) == nullptr);
  const std::string target = pool.has_waiting() ? pool.waiting.node_profile : pool.active();
  const bool gives_way = waiting_withdrawn && WaitingOrder(pool) == nullptr;
  const bool refused = IsPinned(pool, wanted.id) || IsDisabled(pool, wanted.id);
  if (wanted.id != target && (StagedAtOnce(pool, wanted.id, trigger) || (gives_way && !refused))) {
    const NodeProfile* active = profiles.Find(NodeProfileName(pool.active()));
    Switch(pool, {wanted.id, MadeAt(pool, wanted.id, now), Summary(active, wanted)});
  } else if (gives_way) {
    DropWaiting(pool);
  }
  StageWaiting(pool);
  // A release does not end those of a rollback that may still be dropped.
  if (ends_pins && (of_spec || !RollbackWaits(pool))) pool.pinned.clear();
  SetPending(pool, profiles, wanted, now);
  pool.problem.clear();
  pool.spec_unmet = pool.problem_of_spec = false;
  return pool;
}

}  // namespace muster::configuration
