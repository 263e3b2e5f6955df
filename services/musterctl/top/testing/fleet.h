#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/common/condition_names.h"
#include "services/musterctl/top/fleet.h"

// For tests: what the watches say.
namespace muster::musterctl::top {

inline constexpr type::v1::WatchEventType kSnapshot = type::v1::WATCH_EVENT_TYPE_SNAPSHOT;
inline constexpr type::v1::WatchEventType kChanged = type::v1::WATCH_EVENT_TYPE_CHANGED;
inline constexpr char kZone[] = "A-1A";
inline constexpr char kType[] = "gd-8";
inline const absl::Time kNow = absl::FromUnixSeconds(1'750'000'000);

inline std::string PoolNamed(const std::string& id) {
  return absl::StrCat("organizations/acme/clusters/c1/nodePools/", id);
}

template <class Message>
Message Base(type::v1::WatchEventType type, const std::string& key) {
  Message message;
  message.set_type(type);
  message.set_key(key);
  return message;
}

template <class Message>
Message EndOfSnapshot() {
  return Base<Message>(type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END, "");
}

template <class Message>
Message Gone(const std::string& key) {
  return Base<Message>(type::v1::WATCH_EVENT_TYPE_DELETED, key);
}

using Capacity = capacity::v1::WatchCapacityResponse;
using Lifecycle = lifecycle::v1::WatchLifecycleResponse;
using Quotas = quota::v1::WatchQuotasResponse;

inline Capacity MachineIs(const std::string& id, const std::string& rack, int slot,
                          capacity::v1::Machine::State state = capacity::v1::Machine::STATE_FREE,
                          type::v1::WatchEventType type = kSnapshot) {
  auto message = Base<Capacity>(type, absl::StrCat("machines/", id));
  capacity::v1::Machine& machine = *message.mutable_machine();
  machine.set_name(message.key());
  machine.set_zone(kZone);
  machine.set_instance_type(kType);
  machine.set_rack(rack);
  machine.set_slot(slot);
  machine.set_state(state);
  return message;
}

inline Lifecycle NodeIs(const std::string& machine, const std::string& pool,
                        lifecycle::v1::Node::State state) {
  auto message = Base<Lifecycle>(kSnapshot, absl::StrCat(PoolNamed(pool), "/nodes/", machine));
  message.mutable_node()->set_name(message.key());
  message.mutable_node()->set_machine(machine);
  message.mutable_node()->set_state(state);
  return message;
}

// A healthy pool but for these conditions.
inline Lifecycle PoolIs(const std::string& id, int64_t target,
                        std::initializer_list<std::pair<std::string, std::string>> others = {},
                        absl::Duration age = absl::Minutes(3)) {
  auto message = Base<Lifecycle>(kSnapshot, PoolNamed(id));
  lifecycle::v1::NodePool& pool = *message.mutable_node_pool();
  pool.set_name(message.key());
  pool.set_uid(absl::StrCat("uid-", id));
  pool.set_zone(kZone);
  pool.mutable_spec()->set_instance_type(kType);
  pool.mutable_spec()->set_target_nodes(target);
  for (const HealthyCondition& healthy : kHealthyConditions) {
    auto& condition = *pool.mutable_status()->add_conditions();
    condition.set_type(std::string(healthy.type));
    condition.set_reason(std::string(healthy.reason));
    condition.mutable_last_transition_time()->set_seconds(absl::ToUnixSeconds(kNow - age));
    for (const auto& [type, reason] : others) {
      if (type != healthy.type) continue;
      condition.set_reason(reason);
      condition.set_message(absl::StrCat("Because of ", reason, "."));
    }
  }
  return message;
}

inline Quotas QuotaIs(const std::string& organization, int64_t limit) {
  auto message = Base<Quotas>(
      kSnapshot, absl::StrCat("organizations/", organization, "/quotas/A-1A~gd-8~default"));
  message.mutable_quota()->set_name(message.key());
  message.mutable_quota()->set_limit(limit);
  message.mutable_quota()->set_limit_in_force(limit);
  return message;
}

inline Quotas HoldingIs(const std::string& organization, const std::string& pool, int64_t nodes) {
  auto message = Base<Quotas>(kSnapshot, absl::StrCat("organizations/", organization,
                                                      "/quotas/A-1A~gd-8~default/holdings/", pool));
  message.mutable_holding()->set_nodes(nodes);
  return message;
}

inline Capacity ClaimIs(const std::string& pool, int64_t nodes, int64_t outstanding,
                        absl::Duration age) {
  auto message = Base<Capacity>(kSnapshot, absl::StrCat("claims/uid-", pool));
  capacity::v1::Claim& claim = *message.mutable_claim();
  claim.set_zone(kZone);
  claim.set_instance_type(kType);
  claim.set_pool(PoolNamed(pool));
  claim.set_nodes(nodes);
  claim.set_outstanding(outstanding);
  claim.mutable_queue_time()->set_seconds(absl::ToUnixSeconds(kNow - age));
  return message;
}

}  // namespace muster::musterctl::top
