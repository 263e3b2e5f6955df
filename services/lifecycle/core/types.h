#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/common/interned.h"
#include "services/common/kubernetes_names.h"
#include "services/lifecycle/core/spec.h"

// The rows of the lifecycle domain. Plain values; words that manifests write (`spot`, `Manual`)
// are kept as written.
namespace muster::lifecycle {

// A time that is not set.
inline constexpr absl::Time kNever = absl::InfiniteFuture();

struct Cluster {
  static constexpr char kKind[] = "cluster";
  std::string name = {};
  std::string zone = {};
  std::string kubernetes_version = {};  // empty: the newest
  absl::Time create_time = kNever;
  std::string kubernetes_uid = {};  // empty: not bound
  // An operator's order; no order: neither time is set.
  struct Allowance {
    int64_t node_pools = 0;
    int64_t nodes = 0;
    absl::Time create_time = kNever;
    absl::Time expire_time = kNever;
    bool operator==(const Allowance&) const = default;
  };
  Allowance allowance = {};
  Word later = {};  // see services/common/state.h

  const std::string& Key() const { return name; }
  bool operator==(const Cluster&) const = default;
};

// As in Kubernetes. `status` is True, False or Unknown.
struct Condition {
  Word type = {};
  Word status = {};
  Word reason = {};
  Word message = {};
  absl::Time last_transition_time = kNever;
  int64_t observed_generation = 0;
  Word event_reason = {};  // of the event that goes with it; empty: none
  bool operator==(const Condition&) const = default;
};

// A configuration that a pool has, had or may get.
struct NodeConfiguration {
  absl::Time created_at = kNever;
  std::string node_profile = {};
  std::vector<std::string> summary = {};
  int64_t active_nodes = 0;
  bool disabled = false;
  int64_t enable_count = 0;
  bool operator==(const NodeConfiguration&) const = default;
};

// The most Nodes that an autoscaled pool would be granted: see grantable.h.
struct Grantable {
  int64_t nodes = 0;
  std::string bound_by = {};  // reason::kBoundByQuota or kBoundByCapacity
  bool operator==(const Grantable&) const = default;
};

struct Status {
  int64_t queued_nodes = 0;
  int64_t in_progress = 0;
  int64_t current_nodes = 0;
  std::string node_profile = {};
  std::optional<NodeConfiguration> pending = {};
  std::vector<NodeConfiguration> revisions = {};
  std::vector<Condition> conditions = {};
  std::vector<Condition> summary = {};  // see summary.h
  std::optional<NodeConfiguration> waiting = {};
  std::optional<Grantable> grantable = {};
  bool operator==(const Status&) const = default;
};

// See muster.lifecycle.v1.BootFailures.
struct BootFailures {
  std::string node_profile = {};
  int64_t enable_count = 0;
  std::vector<std::string> machines = {};
  bool operator==(const BootFailures&) const = default;
};

// See muster.lifecycle.v1.GivenUpNodes.
struct GivenUp {
  int64_t nodes = 0;
  absl::Time since = kNever;
  bool boot_counted = false;
  bool operator==(const GivenUp&) const = default;
};

// See muster.lifecycle.v1.NodePoolAccount.
struct PoolAccount {
  int64_t generation = 1;
  int64_t granted_nodes = 0;
  int64_t requested_nodes = 0;
  int64_t removed_nodes = 0;
  int64_t prefill_nodes = 0;
  BootFailures boot_failures = {};
  int64_t configuration_order = 0;
  int64_t waiting_configuration_order = 0;
  GivenUp given_up = {};
  int64_t scaled_to = 0;
  bool claim_unknown = false;
  bool rollback_waits = false;
  std::vector<std::string> leaving_racks = {};
  int64_t deferred_nodes = 0;
  bool released = false;
  bool operator==(const PoolAccount&) const = default;
};

// Reconfigure reboots, see muster.lifecycle.v1.Reconfiguration.
struct Reconfiguration {
  enum class State { kRunning, kPaused, kHalted, kDone, kCancelled };
  int64_t number = 1;
  State state = State::kRunning;
  std::vector<std::string> machines = {};
  bool evict_active = false;
  std::string max_unavailable = {};
  int64_t allowed_failures = 0;
  absl::Time create_time = kNever;
  absl::Time state_time = kNever;
  std::vector<std::string> failed_machines = {};
  int64_t rebooted_nodes = 0;
  std::string halt_reason = {};  // kHalted: "1 boot failed (g100)"

  bool ended() const { return state == State::kDone || state == State::kCancelled; }
  bool operator==(const Reconfiguration&) const = default;
};

struct Pool {
  static constexpr char kKind[] = "node_pool";
  std::string name = {};
  std::string uid = {};
  std::string zone = {};
  int64_t generation = 1;
  // Of the Kubernetes object that `spec` was last taken from; 0: it never came from one.
  int64_t object_generation = 0;
  absl::Time create_time = kNever;
  absl::Time delete_time = kNever;
  Spec spec = {};
  Status status = {};
  PoolAccount account = {};
  std::optional<Reconfiguration> reconfiguration = {};
  Word later = {};  // see services/common/state.h

  const std::string& Key() const { return name; }
  bool deleting() const { return delete_time != kNever; }
  // How many Nodes the pool should have, without replacements that come early.
  int64_t target_nodes() const { return deleting() ? 0 : spec.target_nodes; }
  // How many Nodes the pool should have now, replacements that come early included.
  int64_t wanted_nodes() const {
    return deleting() ? 0 : spec.target_nodes + account.prefill_nodes;
  }
  bool reconfiguring() const { return reconfiguration && !reconfiguration->ended(); }
  size_t JournalBytes() const;  // see services/common/state.h
  bool operator==(const Pool&) const = default;
};

// In the order of a Node's life; see node_machine.h.
enum class NodeState {
  kAssigned,
  kBooting,
  kRegistered,
  kProduction,
  kReconfiguring,
  kTriage,
  kCordoned,
  kDraining,
  kPreparedForTerminate,
  kDeleted,
  kDeliveryFailed,
};
inline constexpr int kNodeStates = 11;

// Why a Node leaves.
enum class RemovalCause { kNone, kScaleDown, kRepair, kPreemption, kDeletion, kReservation };

enum class Phase { kUndecided, kRunning, kTerminated };

// What agents are to bring about.
struct Desired {
  Phase phase = Phase::kUndecided;
  absl::Time phase_time = kNever;
  Word node_profile = {};
  bool cordoned = false;
  bool drain = false;
  absl::Time drain_deadline = kNever;
  // The same for nearly all Nodes of a pool.
  Interned<StringMap> labels = {};
  Interned<StringMap> annotations = {};
  Interned<std::vector<Taint>> taints = {};
  bool force_drain = false;
  absl::Time drain_time = kNever;  // since when `drain`
  bool operator==(const Desired&) const = default;
};

// When a Node is to be rebooted, see muster.lifecycle.v1.NodeOrders.Reboot.
enum class Reboot { kNone, kWhenIdle, kDrained, kForced };

// What was ordered of one Node, see muster.lifecycle.v1.NodeOrders.
struct NodeOrders {
  absl::Time cordon_time = kNever;
  absl::Time drain_time = kNever;
  bool drain_forced = false;
  Reboot reboot = Reboot::kNone;
  absl::Time reboot_time = kNever;

  bool any() const { return cordon_time != kNever || reboot != Reboot::kNone; }
  bool operator==(const NodeOrders&) const = default;
};

// What agents last reported.
struct Observed {
  Word node_profile = {};
  bool active = false;
  bool autoscaler_marked = false;
  bool unhealthy = false;
  bool unschedulable = false;
  std::vector<std::string> active_pods = {};
  absl::Time active_time = kNever;
  int64_t active_pod_count = 0;
  Word health_message = {};
  // Since when it is unhealthy, moved on by healthy times in between: see health.h.
  absl::Time unhealthy_time = kNever;
  // Since when it is healthy again; kNever: it is not, or always was.
  absl::Time healthy_time = kNever;
  absl::Time health_window_time = kNever;  // since when relapses are counted
  int64_t relapses = 0;                    // how often it became unhealthy again since
  Word drain_blocked_by = {};
  Word staging_error = {};
  Word removal_error = {};
  std::string boot_id = {};
  absl::Time boot_time = kNever;  // kNever: not known, or it is to reboot and is not back
  // Since when it is cordoned in its cluster; kNever: it is not, or is not known to be.
  absl::Time cordon_time = kNever;
  bool operator==(const Observed&) const = default;
};

struct Node {
  static constexpr char kKind[] = "node";
  std::string name = {};
  std::string machine = {};
  Word pool_uid = {};
  NodeState state = NodeState::kAssigned;
  absl::Time state_time = kNever;
  absl::Time create_time = kNever;
  Desired desired = {};
  Observed observed = {};
  std::vector<Condition> conditions = {};
  RemovalCause removal_cause = RemovalCause::kNone;
  absl::Time preempt_time = kNever;
  absl::Time protect_until_time = kNever;
  bool removal_requested = false;
  absl::Time replace_time = kNever;      // since when its replacement is asked for
  absl::Time asked_to_go_time = kNever;  // see asked_to_go.h; only of Nodes that are named
  absl::Time reconfigure_time = kNever;
  Word rack = {};
  Word reserved_desired = {};        // empty or kControlPlane
  absl::Time request_time = kNever;  // when its machine was asked for; kNever: not known
  absl::Time grant_time = kNever;    // names the grant of it, by capacity's clock; likewise
  NodeOrders orders = {};
  Word later = {};  // see services/common/state.h

  const std::string& Key() const { return name; }
  size_t JournalBytes() const;  // see services/common/state.h
  bool operator==(const Node&) const = default;
};

// Something that happened; equal ones are counted on one row.
struct Event {
  static constexpr char kKind[] = "event";
  std::string name = {};
  Word object = {};
  Word pool_uid = {};
  Word type = {};
  Word reason = {};
  std::string message = {};
  int64_t count = 1;
  absl::Time first_time = kNever;
  absl::Time last_time = kNever;
  Word later = {};  // see services/common/state.h

  const std::string& Key() const { return name; }
  bool operator==(const Event&) const = default;
};

// Which replica reconciles. One row at most.
struct Lease {
  static constexpr char kKind[] = "lease";
  static constexpr char kName[] = "leases/reconciler";
  std::string name = kName;
  std::string holder = {};
  int64_t epoch = 0;
  std::string incarnation = {};  // the history that it was taken over in
  // Where the generations of accounts begin in this history, above those of all earlier ones; 0: it
  // is the first history.
  int64_t generation_floor = 0;
  Word later = {};  // see services/common/state.h

  const std::string& Key() const { return name; }
  bool operator==(const Lease&) const = default;
};

}  // namespace muster::lifecycle
