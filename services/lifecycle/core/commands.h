#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/lifecycle/core/actions.h"
#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/types.h"
#include "services/lifecycle/core/validate.h"

// Every write of the lifecycle domain, as a value; decide.h carries them out. Names must be
// well-formed (names.h), fields valid (validate_command.h).
namespace muster::lifecycle {

struct UpdateCluster {
  Cluster cluster = {};   // name, zone, kubernetes_version are read
  std::string etag = {};  // empty: any
  OrganizationLimits limits = {};
};

// Says which Kubernetes a cluster is.
struct BindCluster {
  std::string name = {};
  std::string kubernetes_uid = {};
  bool adopt = false;         // also one that has pools
  std::string replaces = {};  // the uid that it is bound to now; empty: it must not be bound yet
  std::string etag = {};
};

// An operator's order to go on with removals that the adapter holds.
struct AllowRemovals {
  std::string name = {};
  int64_t node_pools = 0;
  int64_t nodes = 0;
  absl::Duration ttl = absl::ZeroDuration();
  std::string etag = {};
};

struct ApplyNodePool {
  std::string name = {};
  std::string uid = {};      // empty: any
  std::string new_uid = {};  // for a pool that does not exist yet when `uid` is empty
  std::string etag = {};     // empty: any
  Spec spec = {};            // its target_nodes is not read
  // Of the Kubernetes object that `spec` comes from; 0: it comes from none, and the pool keeps its
  // own.
  int64_t object_generation = 0;
  std::optional<int64_t> target_nodes = {};
  std::optional<TypeFacts> type = {};  // nullopt: not known
  OrganizationLimits limits = {};
};

// Some fields of a pool's spec.
struct UpdateNodePool {
  std::string name = {};
  std::string etag = {};
  std::vector<std::string> paths = {};  // of SpecPaths(), or `spec`, or `*`
  Spec values = {};  // of the fields that `paths` name; its target_nodes is not read
  std::optional<int64_t> target_nodes = {};
  std::optional<TypeFacts> type = {};
};

struct DeleteCluster {
  std::string name = {};
  std::string etag = {};
  bool allow_missing = false;
};

struct ResizeNodePool {
  std::string name = {};
  std::optional<int64_t> target_nodes = {};  // nullopt: lowered by the named machines, see TargetOf
  std::string etag = {};
  std::optional<TypeFacts> type = {};
  std::vector<std::string> remove_machines = {};  // none twice
};

// Reconfigure reboots.
struct ReconfigureNodePool {
  std::string name = {};
  std::string etag = {};
  std::vector<std::string> machines = {};  // empty: all; none twice
  bool evict_active = false;
  std::string max_unavailable = {};
  int64_t allowed_failures = 0;
};

// Pauses, resumes or cancels them.
struct ControlReconfiguration {
  enum class Verb { kPause, kResume, kCancel };
  std::string name = {};
  std::string etag = {};
  Verb verb = Verb::kPause;
};

// What a user may change of a Node.
struct UpdateNode {
  std::string name = {};
  std::string etag = {};
  // nullopt: as it is.
  std::optional<absl::Time> protect_until_time = {};  // kNever: not protected
  std::optional<std::string> reserved_desired = {};   // empty or kControlPlane
};

// An order to one Node, see node_orders.h.
struct OrderNode {
  enum class Verb { kCordon, kUncordon, kDrain, kReboot };
  std::string name = {};
  std::string etag = {};
  Verb verb = Verb::kCordon;
  bool force = false;             // kDrain
  Reboot reboot = Reboot::kNone;  // kReboot; not kNone
};

struct DeleteNodePool {
  std::string name = {};
  std::string etag = {};
  bool allow_missing = false;
};

// What an agent saw of one Node.
struct ReportNode {
  enum class Observation {
    kBootStarted,
    kBootFailed,
    kRegistered,
    kReady,
    kActive,
    kIdle,
    kDrained,
    kTerminated,
    kUnhealthy,
    kRecovered,
    kAutoscalerMarked,
    kAutoscalerUnmarked,
    kUnschedulable,
    kSchedulable,
    kDrainBlocked,
    kDrainUnblocked,
    kStagingFailed,
    kStaged,
    kRemovalFailed,
    kCordoned,
  };
  std::string node = {};
  Observation observation = Observation::kIdle;
  std::string node_profile = {};
  std::vector<std::string> active_pods = {};
  std::string message = {};
  int64_t active_pod_count = 0;          // 0: as many as are named
  absl::Time node_create_time = kNever;  // of the Node that was seen; kNever: of any
  std::string boot_id = {};
  absl::Time desired_time = kNever;  // of the cordon carried out; kNever: of the present one
  bool is_unknown = false;           // the observation is of a newer release
};
inline constexpr int kObservations = 20;

// Whether it is of the machine below Kubernetes: only who boots machines and switches them off can
// tell.
bool IsOfMachine(ReportNode::Observation observation);

// Carried out if neither the pool's row nor a Node that it changes is newer than `version`.
struct ApplyPlan {
  std::string pool = {};
  std::string uid = {};
  int64_t version = 0;  // State::VersionOf the rows that it was planned from
  // Of the lease under which it was planned. Both are compared: after a restore another replica may
  // have taken the same epoch again.
  std::string holder = {};
  int64_t epoch = 0;
  std::vector<Action> actions = {};
};

// Forgets events of deleted pools, those last seen longest ago first: those not seen for `keep`,
// and as many more as exceed `most`; at most kMaxExpiredEvents in one command.
struct ExpireEvents {
  absl::Duration keep = absl::Hours(24);
  size_t most = kMaxGoneEvents;
};

struct TakeLease {
  std::string holder = {};
  int64_t epoch = 0;  // greater than every earlier one
  // The journal's history in which it is taken; empty: the same as before. In another history (the
  // database was restored) the generations of all accounts are raised, so that nothing asked in the
  // lost future wins over what is asked from now on; and what claims hold counts as unknown. One
  // command does so for at most `most_raised` pools: it is to be repeated until
  // Outcome::raised_through is empty, and only the last makes the lease one of this history.
  std::string incarnation = {};
  std::string raised_through = {};  // that of the command before this one; empty: this is the first
  size_t most_raised = kMaxRaisedPools;  // at least 1
};

// What came of a command: the row after it, where it has one, and its revision.
struct Outcome {
  std::optional<Cluster> cluster = {};
  std::optional<Pool> pool = {};
  std::optional<Node> node = {};
  int64_t revision = 0;
  std::vector<std::string> changed_fields = {};  // of a pool's spec, by its owner: ChangedFields
  // True: the changed fields will be set back, because the pool belongs to a Kubernetes object that
  // says otherwise and will be applied again.
  bool set_back = false;
  std::string raised_through = {};  // TakeLease: the last pool that was raised, if more are left
  // Set if the command is only tried: the etag of the resource as it is; empty: there is none.
  std::optional<std::string> etag_there = {};
};

using StatusOrOutcome = absl::StatusOr<Outcome>;

}  // namespace muster::lifecycle
