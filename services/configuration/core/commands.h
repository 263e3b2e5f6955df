#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/configuration/core/types.h"

namespace muster::configuration {

// "This was released." Idempotent.
struct PublishRelease {
  Channel channel = Channel::kStable;
  Component component = Component::kGpuDriver;
  std::string version = {};
};

// "This one no more." Idempotent.
struct WithdrawRelease {
  Channel channel = Channel::kStable;
  Component component = Component::kGpuDriver;
  std::string version = {};
};

// "Forget this one." Of a release that is withdrawn.
struct DeleteRelease {
  Channel channel = Channel::kStable;
  Component component = Component::kGpuDriver;
  std::string version = {};
  bool allow_missing = false;
};

// The different machines that failed to boot a profile in a row since its last success.
struct BootFailures {
  std::string node_profile = {};
  int64_t enable_count = 0;  // of the revision, as last answered
  std::vector<std::string> machines = {};
};

// "This pool's spec says so." Declarative: twice has the effect of once.
struct SyncPool {
  std::string pool_uid = {};
  int64_t generation = 0;
  Spec spec = {};                 // not read with `release`
  bool release = false;           // the pool is gone
  int64_t nodes_in_delivery = 0;  // assigned and not yet registered
  std::optional<BootFailures> boot_failures = {};
  std::vector<std::string> running_profiles = {};  // what the pool's Nodes boot or run
  int64_t orders_told = 0;  // the ends of orders up to this number were told of
  std::string pool = {};    // the pool's name; empty: as it is known
};

// A promotion or a rollback. `requested`: a profile id, `pending` or `previous`. `rollback`: with a
// promotion, what a rollback that was ordered at the same time asks for; empty: none was.
struct OrderPool {
  std::string pool_uid = {};
  OrderKind kind = OrderKind::kPromote;
  std::string requested = {};
  std::string rollback = {};
};

// "This revision may be booted again."
struct EnableRevision {
  std::string pool_uid = {};
  std::string node_profile = {};
};

// Brings pools to what they now resolve to; keys of rows, at most kMaxSettled.
struct SettlePools {
  std::vector<std::string> keys = {};
};

// Decided in their order, each on its own.
struct SyncPools {
  std::vector<SyncPool> requests = {};
};

}  // namespace muster::configuration
