#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/configuration/core/limits.h"
#include "services/configuration/core/resolve.h"
#include "services/configuration/core/testing/world.h"

// What must hold of a pool at any time, and from one command to the next: for tests.
namespace muster::configuration {

// For a failure's trace.
inline std::string Describe(const PoolConfiguration& pool) {
  std::string text = absl::StrCat(
      Print(pool.spec.strategy), pool.mid_delivery ? " mid-delivery" : "", " active ",
      pool.active(), " pending ", pool.pending.node_profile, " waiting ", pool.waiting.node_profile,
      " problem ", pool.problem, pool.spec_unmet ? " unmet" : "", " pinned");
  for (const std::string& pinned : pool.pinned) absl::StrAppend(&text, " ", pinned);
  for (const Order& order : pool.orders) {
    absl::StrAppend(&text, "; ", order.number, " ", Print(order.kind), " ", order.requested, " ",
                    order.node_profile, " ", Print(order.outcome));
  }
  return text;
}

inline bool Sorted(const std::vector<std::string>& list) {
  return std::adjacent_find(list.begin(), list.end(), std::greater_equal<>()) == list.end();
}

inline void CheckOrders(const PoolConfiguration& pool) {
  const Order* waits = WaitingOrder(pool);
  EXPECT_TRUE(waits == nullptr || waits->node_profile == pool.waiting.node_profile);
  EXPECT_TRUE(Sorted(pool.pinned));
  EXPECT_TRUE(!IsPinned(pool, pool.active()) ||
              (waits != nullptr && waits->kind == OrderKind::kRollback));
  int64_t last = 0;
  for (const Order& order : pool.orders) {
    EXPECT_LT(last, order.number);
    last = order.number;
    EXPECT_TRUE(order.outcome != OrderOutcome::kWaiting || &order == waits);
  }
}

// The invariants of types.h.
inline void CheckPool(const World& world, const PoolConfiguration& pool) {
  EXPECT_FALSE(pool.has_pending() && !pool.problem.empty());
  EXPECT_TRUE(!pool.has_pending() || (pool.pending.node_profile != pool.active() &&
                                      pool.pending.node_profile != pool.waiting.node_profile));
  if (pool.has_waiting()) {
    EXPECT_TRUE(pool.mid_delivery);
    EXPECT_FALSE(pool.active().empty());
    EXPECT_NE(pool.waiting.node_profile, pool.active());
    EXPECT_FALSE(IsDisabled(pool, pool.waiting.node_profile));
    EXPECT_NE(world.Profile(pool.waiting.node_profile), nullptr);
  }
  EXPECT_FALSE((pool.spec_unmet || pool.problem_of_spec) && pool.problem.empty());
  EXPECT_TRUE(!pool.has_pending() || world.Profile(pool.pending.node_profile) != nullptr);
  CheckOrders(pool);
  std::set<absl::string_view> profiles;
  for (const Revision& revision : pool.revisions) {
    EXPECT_TRUE(profiles.insert(revision.node_profile).second);
    EXPECT_NE(world.Profile(revision.node_profile), nullptr);
    EXPECT_FALSE(revision.summary.empty());
  }
}

// What may become of a pool from one command to the next.
inline void CheckChange(const PoolConfiguration& was, const PoolConfiguration& is) {
  if (is.active() != was.active() && !was.active().empty()) {
    EXPECT_FALSE(is.mid_delivery);
    EXPECT_FALSE(IsDisabled(was, is.active()));
    // A pinned one comes back by an order only, or because the rollback that pinned it has failed.
    const Order* order = nullptr;
    for (const Order& row : is.orders) {
      if (row.outcome == OrderOutcome::kDone && row.node_profile == is.active()) order = &row;
    }
    const Order* waited = WaitingOrder(was);
    const bool failed = waited != nullptr && waited->kind == OrderKind::kRollback &&
                        IsDisabled(is, waited->node_profile);
    EXPECT_TRUE(!IsPinned(was, is.active()) || order != nullptr || failed);
  }
  for (const Order& before : was.orders) {
    for (const Order& after : is.orders) {
      if (after.number != before.number || before.outcome == OrderOutcome::kWaiting) continue;
      EXPECT_EQ(after, before);
    }
  }
}

// By hand, over all releases: nothing newer would fit.
inline void CheckNewest(const World& world, const NodeProfile& profile, const Spec& spec) {
  for (const auto& [key, row] : world.state.table<Release>().rows()) {
    const Release& release = *row.row;
    if (release.channel != profile.release_train || release.withdraw_time) continue;
    const auto version = ParseVersion(release.version);
    if (!version) continue;  // a name is never the newest
    const auto not_newer = [&](const std::string& chosen) {
      const Version other = *ParseVersion(chosen);
      EXPECT_TRUE(version->numbers < other.numbers ||
                  (version->numbers == other.numbers && version->text <= other.text))
          << release.version << " is newer than " << chosen;
    };
    if (release.component == Component::kNcoreImage && spec.image_name.empty()) {
      not_newer(profile.image);
    }
    if (release.component == Component::kGpuDriver && spec.gpu) {
      const bool image = !spec.image_name.empty() || !spec.image_kernel.empty() ||
                         spec.release_train != Channel::kStable;
      const bool fits =
          image || spec.gpu_version.empty() || version->numbers[0] == std::stoll(spec.gpu_version);
      if (fits) not_newer(profile.gpu_driver);
    }
    if (release.component == Component::kKubernetes &&
        absl::string_view(release.version + ".").substr(0, spec.kubernetes.size() + 1) ==
            (spec.kubernetes.empty() ? release.version.substr(0, 1) : spec.kubernetes + ".")) {
      not_newer(profile.kubernetes);
    }
  }
}

// The pool is at what it resolves to.
inline void CheckSettled(const World& world, const PoolConfiguration& pool) {
  const Resolution wanted = Resolve(world.state, WantsOf(pool.spec));
  EXPECT_TRUE(IsSettled(world.state, pool, wanted));
  EXPECT_EQ(Next(pool, world.state.table<NodeProfile>(), wanted, Trigger::kUpstream, world.now),
            pool);
  EXPECT_EQ(pool.problem, wanted.problem);
  EXPECT_EQ(pool.problem_of_spec, wanted.of_spec);
  if (!pool.problem.empty()) return;
  EXPECT_FALSE(pool.active().empty());
  const std::string& id = wanted.profile.id;
  EXPECT_TRUE(id == pool.active() || id == pool.waiting.node_profile ||
              id == pool.pending.node_profile);
  EXPECT_TRUE(WaitingOrder(pool) != nullptr ||
              !IsWithdrawn(world.state, pool.waiting.node_profile));
  if (pool.spec.strategy == Strategy::kAlways && pool.has_pending()) {
    EXPECT_TRUE(IsPinned(pool, id) || IsDisabled(pool, id));
  }
  CheckNewest(world, wanted.profile, pool.spec);
}

}  // namespace muster::configuration
