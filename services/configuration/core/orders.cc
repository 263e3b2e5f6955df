#include "services/configuration/core/orders.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/configuration/core/names.h"
#include "services/configuration/core/profile.h"
#include "services/configuration/core/strategy.h"

namespace muster::configuration {
namespace {

// The profile that an order comes to, or why there is none.
struct Choice {
  std::string profile = {};
  std::string fault = {};
};

Choice ChoosePromotion(const PoolConfiguration& pool, const std::string& requested) {
  const std::string& pending = pool.pending.node_profile;
  if (pending.empty()) return {.fault = "No configuration is pending."};
  if (requested != kPendingWord && requested != pending) {
    return {.fault = absl::StrCat(requested, " is not pending; ", pending, " is.")};
  }
  if (IsDisabled(pool, pending)) return {.fault = absl::StrCat(pending, " is disabled.")};
  return {.profile = pending};
}

// The last one before the active one that may be had.
Choice ChoosePrevious(const PoolConfiguration& pool, const std::set<std::string>& withdrawn) {
  if (pool.revisions.size() < 2) return {.fault = "No configuration was active before."};
  for (auto it = std::next(pool.revisions.rbegin()); it != pool.revisions.rend(); ++it) {
    if (!it->disabled && !withdrawn.contains(it->node_profile))
      return {.profile = it->node_profile};
  }
  return {.fault = "All that were active before are disabled or withdrawn."};
}

Choice ChooseRollback(const PoolConfiguration& pool, const std::string& profile) {
  if (profile == pool.active()) return {.fault = absl::StrCat(profile, " is the active one.")};
  const Revision* revision = FindRevision(pool, profile);
  if (revision == nullptr) {
    return {.fault = absl::StrCat(profile, " is none of the pool's revisions.")};
  }
  if (revision->disabled) return {.fault = absl::StrCat(profile, " is disabled.")};
  return {.profile = profile};
}

Choice Choose(const PoolConfiguration& pool, const std::set<std::string>& withdrawn,
              const Order& order) {
  switch (order.kind) {
    case OrderKind::kPromote:
      return ChoosePromotion(pool, order.requested);
    case OrderKind::kRollback:
      return order.requested == kPreviousWord ? ChoosePrevious(pool, withdrawn)
                                              : ChooseRollback(pool, order.requested);
  }
  return {};
}

Order NewOrder(const PoolConfiguration& pool, OrderKind kind, absl::string_view requested,
               absl::Time now) {
  return {.number = pool.orders.empty() ? 1 : pool.orders.back().number + 1,
          .kind = kind,
          .requested = std::string(requested),
          .create_time = now};
}

void Drop(Order& order) {
  order.message = "Asked for both a promotion and a rollback; both are dropped.";
  order.outcome = OrderOutcome::kConflict;
}

// Makes what waits pending again, with the time at which it was made, unless it was active before
// or something else is pending. Next keeps it, or not.
void PutBack(PoolConfiguration& pool) {
  const std::string& waiting = pool.waiting.node_profile;
  const bool free = pool.pending.node_profile.empty();
  if (free && !waiting.empty() && FindRevision(pool, waiting) == nullptr)
    pool.pending = pool.waiting;
}

// Drops the order, and the one that waits.
Ordered Conflict(PoolConfiguration pool, Order order) {
  Drop(*WaitingOrder(pool));
  Drop(order);
  PutBack(pool);
  DropWaiting(pool);
  pool.orders.push_back(order);
  return {std::move(pool), std::move(order)};
}

// True when the same is asked for again: what waits is pending no more.
bool IsSame(const PoolConfiguration& pool, const Order& waiting, const Order& order,
            const Choice& choice) {
  // A pending profile that is refused because it is disabled is another one than what waits.
  const bool none = choice.profile.empty() &&
                    (order.kind != OrderKind::kPromote || pool.pending.node_profile.empty());
  if (order.requested == kPendingWord && none) return true;
  // The same word may mean another one by now.
  const bool same_word = none && waiting.requested == order.requested;
  return same_word || waiting.node_profile == order.requested ||
         waiting.node_profile == choice.profile;
}

void PinActive(PoolConfiguration& pool, bool ordered, const std::string& to) {
  const auto pin = [&](const std::string& profile) {
    if (profile.empty() || profile == to || IsPinned(pool, profile)) return;
    pool.pinned.insert(std::upper_bound(pool.pinned.begin(), pool.pinned.end(), profile), profile);
  };
  pin(pool.active());
  if (!ordered) pin(pool.waiting.node_profile);
}

}  // namespace

Ordered GiveOrder(PoolConfiguration pool, const Table<NodeProfile>& profiles, OrderKind kind,
                  absl::string_view requested, absl::Time now,
                  const std::set<std::string>& withdrawn) {
  Order order = NewOrder(pool, kind, requested, now);
  Order* other = WaitingOrder(pool);
  if (other != nullptr && other->kind != kind) return Conflict(std::move(pool), std::move(order));
  const Choice choice = Choose(pool, withdrawn, order);
  if (other != nullptr && IsSame(pool, *other, order, choice)) return {pool, *other};
  if (choice.profile.empty()) {
    order.outcome =
        kind == OrderKind::kPromote ? OrderOutcome::kNoPending : OrderOutcome::kRollbackFailed;
    order.message = choice.fault;
    pool.orders.push_back(order);
    return {std::move(pool), std::move(order)};
  }
  if (other != nullptr) {
    other->outcome = OrderOutcome::kReplaced;
    other->message = absl::StrCat("Order ", order.number, " took its place.");
  }
  if (kind == OrderKind::kRollback) PinActive(pool, other != nullptr, choice.profile);
  order.node_profile = choice.profile;
  order.outcome = OrderOutcome::kWaiting;
  order.message = "Waits until no Node is in delivery.";
  const NodeProfile* active = profiles.Find(NodeProfileName(pool.active()));
  const NodeProfile* to = profiles.Find(NodeProfileName(choice.profile));
  const absl::Time made = MadeAt(pool, choice.profile, now);
  PutBack(pool);
  pool.waiting = {choice.profile, made,
                  to == nullptr ? std::vector<std::string>() : Summary(active, *to)};
  if (pool.pending.node_profile == choice.profile) pool.pending = {};
  const int64_t number = order.number;
  pool.orders.push_back(std::move(order));
  StageWaiting(pool);
  const auto given = std::find_if(pool.orders.begin(), pool.orders.end(),
                                  [&](const Order& row) { return row.number == number; });
  return {pool, *given};
}

Ordered GiveBoth(PoolConfiguration pool, absl::string_view promotion, absl::string_view rollback,
                 absl::Time now) {
  const Order* waits = WaitingOrder(pool);
  if (waits != nullptr) {
    const bool promotes = waits->kind == OrderKind::kPromote;
    Order other = promotes ? NewOrder(pool, OrderKind::kRollback, rollback, now)
                           : NewOrder(pool, OrderKind::kPromote, promotion, now);
    return Conflict(std::move(pool), std::move(other));
  }
  for (const OrderKind kind : {OrderKind::kPromote, OrderKind::kRollback}) {
    Order order = NewOrder(pool, kind, kind == OrderKind::kPromote ? promotion : rollback, now);
    Drop(order);
    pool.orders.push_back(std::move(order));
  }
  Order last = pool.orders.back();
  return {std::move(pool), std::move(last)};
}

absl::Status Refusal(const PoolConfiguration& pool, const Order& order) {
  const std::string key = pool.Key();
  switch (order.outcome) {
    case OrderOutcome::kNoPending:
      return error::FailedPrecondition("NO_PENDING_CONFIGURATION", key, order.message);
    case OrderOutcome::kRollbackFailed:
      return error::FailedPrecondition("ROLLBACK_FAILED", key, order.message);
    case OrderOutcome::kConflict:
      return error::FailedPrecondition("CONFIGURATION_CONFLICT", key, order.message);
    case OrderOutcome::kWaiting:
    case OrderOutcome::kDone:
    case OrderOutcome::kReplaced:
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

}  // namespace muster::configuration
