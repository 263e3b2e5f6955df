#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"

namespace muster::fleetsim {

// How the simulated fleet behaves. Durations marked "mean" vary from Node to Node, those marked
// "arrival" are exponential with this mean; 0: it never happens. Shares are 0 to 1.
struct FleetOptions {
  uint64_t seed = 1;
  absl::Duration boot_time = absl::Seconds(3);  // mean, of boots and reboots, also of failed ones
  absl::Duration ready_time = absl::Milliseconds(500);  // mean, from registered to ready
  absl::Duration drain_time = absl::Seconds(2);         // mean, from the order to drained
  absl::Duration terminate_time = absl::Seconds(2);     // mean, from PREPARED_FOR_TERMINATE to off
  double spread = 0.3;           // 0 to 1: the above vary by this fraction of themselves
  double boot_failure_rate = 0;  // share of boots and reboots that fail
  absl::Duration work_arrival = absl::ZeroDuration();     // on an idle Node
  absl::Duration work_duration = absl::Minutes(10);       // exponential
  double interruptible_share = 0;                         // of work: a drain ends it at once
  double graceful_share = 0;                              // of work: it takes its grace period
  absl::Duration grace_period = absl::Seconds(30);        // mean
  double drain_block_rate = 0;                            // share of drains of other work
  absl::Duration drain_block_time = absl::Minutes(1);     // exponential, until it goes on
  absl::Duration failure_arrival = absl::ZeroDuration();  // of a Node that takes work
  absl::Duration recovery_arrival = absl::ZeroDuration();
  absl::Duration mark_arrival = absl::ZeroDuration();    // the autoscaler marks an idle Node
  absl::Duration mark_duration = absl::Minutes(10);      // exponential
  absl::Duration cordon_arrival = absl::ZeroDuration();  // somebody else cordons it
  absl::Duration cordon_duration = absl::Minutes(10);    // exponential
  double staging_failure_rate = 0;  // share of stagings on a running Node that fail once
  double removal_failure_rate = 0;  // share of switch-offs that fail once
  // Nodes whose names begin with this have their Kubernetes side at an API server (DesiredMachine).
  // nullopt: none has.
  std::optional<std::string> kubernetes = {};
};

// What an agent does with a Node next.
enum class Action {
  kNone,
  kStartBoot,
  kFinishBoot,
  kReady,
  kStartWork,
  kFinishWork,
  kFail,
  kRecover,
  kMark,
  kUnmark,
  kCordon,
  kUncordon,
  kBlockDrain,
  kUnblockDrain,
  kDrained,
  kFailStaging,
  kStage,
  kFailRemoval,
  kTerminated,
  kTellCordon,
};

// States that come upon a Node and leave it again.
enum class Trait : size_t { kActive, kUnhealthy, kMarked, kUnschedulable };
inline constexpr size_t kTraits = 4;

// What of a Node matters to agents.
struct NodeView {
  lifecycle::v1::Node::State state = {};
  absl::Time state_time = absl::InfinitePast();
  absl::Time create_time = absl::InfinitePast();
  lifecycle::v1::NodeDesired::Phase phase = {};
  absl::Time phase_time = absl::InfinitePast();
  std::string profile = {};  // wanted
  std::string booted_profile = {};
  std::string boot_id = {};  // as it was told
  bool back = false;         // of one that reboots: its report that it is up again was taken
  bool cordoned = false;
  bool cordon_told = false;
  absl::Time cordon_time = absl::UnixEpoch();  // see NodeDesired.cordon_time
  bool drain = false;
  bool force_drain = false;
  absl::Time drain_time = absl::InfinitePast();
  absl::Time drain_deadline = absl::InfiniteFuture();
  std::array<bool, kTraits> traits = {};
  absl::Time active_time = absl::InfinitePast();
  bool drain_blocked = false;
  bool staging_failed = false;
  bool removal_failed = false;
  bool kubelet_stopped = false;  // unhealthy for kKubeletStopped: a failure of ours
  bool kubelet_silent = false;   // unhealthy for kNodeStatusUnknown: why is not told
  bool operator==(const NodeView&) const = default;
};

// The id of the boot that the Node runs once it is up: a new one for each ordered boot, the same
// one when fleetsim restarts.
std::string BootIdOf(absl::Time create_time, absl::Time phase_time);

// A machine while it is a Node, as far as an agent remembers it.
struct Life {
  std::string machine = {};
  bool kubernetes = false;  // see FleetOptions
  std::string zone = {};
  std::string instance_type = {};
  NodeView view = {};
  absl::Time seen_time = absl::InfinitePast();  // when the view last changed, by our clock
  uint32_t attempt = 0;                         // how often the machine was a Node before
  uint32_t reboots = 0;
  std::array<uint32_t, kTraits> turns = {};  // how often each trait came or went
  std::array<absl::Time, kTraits> turned = {absl::InfinitePast(), absl::InfinitePast(),
                                            absl::InfinitePast(), absl::InfinitePast()};
  bool stopped = false;  // a failure of ours stopped its kubelet, whatever Kubernetes says by now
  bool staged = false;   // its profile was staged after it had failed
  absl::Time condemned_time = absl::InfiniteFuture();  // when it is to fail, however it fares

  bool has(Trait trait) const { return view.traits[static_cast<size_t>(trait)]; }
};

// What runs on a Node while it is active.
struct Work {
  enum class Class { kInterruptible, kGraceful, kGuarded };
  Class kind = Class::kGuarded;
  uint32_t number = 0;  // of this work on the machine
  int64_t pods = 1;
  absl::Duration grace_period = absl::ZeroDuration();
  bool operator==(const Work&) const = default;
};

// Why a Node of ours is not ready when it has failed.
inline constexpr char kKubeletStopped[] = "KubeletStopped";
// Why Kubernetes says that a Node is not ready when its kubelet has been silent for a while.
inline constexpr char kNodeStatusUnknown[] = "NodeStatusUnknown";
// What has failed then.
inline constexpr char kFailure[] = "a GPU fell off the bus (simulated)";

// What happens to each Node. Pure: no clock, no threads, no randomness but a hash of seed, machine,
// attempt and purpose, so that neither the order of messages nor a restart changes what happens to
// a machine. Level-triggered: it follows from the Node as the server last showed it, and times
// count from the server's, so nothing is lost with this process. (How often traits have turned and
// which of its machine's Nodes this one is are lost: after a restart they are drawn anew; and so is
// why a Node is silent, which then comes back.)
//
//   ASSIGNED, to be RUNNING, profile known -> BOOT_STARTED at once
//   BOOTING                                -> after boot_time REGISTERED, or BOOT_FAILED
//   REGISTERED                             -> after ready_time READY
//   RECONFIGURING                          -> after boot_time REGISTERED with the wanted profile, or
//                                             BOOT_FAILED; after ready_time READY
//   PRODUCTION                             -> work, failures, marks and cordons come and go;
//                                             STAGING_FAILED, then STAGED
//   to be drained, with work               -> IDLE (DRAINED too if DRAINING) after what the work's
//                                             class takes, when forced or at the deadline at once;
//                                             DRAIN_BLOCKED, then DRAIN_UNBLOCKED before it
//   PREPARED_FOR_TERMINATE                 -> after terminate_time TERMINATED, or REMOVAL_FAILED
//                                             first
//
// Of a Node with a Kubernetes side fleetsim reports only what IsReported says. The adapter reports
// the rest as it sees it at the API server, and drains are the adapter's altogether.
class Behaviour {
 public:
  using Step = std::pair<Action, absl::Time>;

  explicit Behaviour(const FleetOptions& options) : options_(options) {}

  static NodeView ViewOf(const lifecycle::v1::Node& node);
  // Takes a new view, which differs from `life`'s own, into `life`.
  static void See(Life& life, NodeView view, absl::Time now);
  // All that may come next, each with its time. An action kNone stands for nothing.
  std::vector<Step> Steps(const Life& life) const;
  // Whether the action is reported to Muster; else it is played at the API server.
  bool IsReported(const Life& life, Action action) const;
  // The work that the Node has, or gets next.
  Work WorkOf(const Life& life) const;
  // The reports that the action consists of, in order; at most two. `name`: the Node's.
  std::vector<lifecycle::v1::NodeReport> Reports(absl::string_view name, const Life& life,
                                                 Action action) const;
  // A number in [0, 1) that is always the same for this Node's attempt, purpose and count.
  // `purpose`: any; those from 1,000 on are not used here.
  double Draw(const Life& life, uint64_t purpose, uint64_t count = 0) const;

 private:
  absl::Duration Around(absl::Duration mean, double draw) const;
  bool BootFails(const Life& life) const;
  Step NextBoot(const Life& life) const;
  Step NextRemoval(const Life& life) const;
  Step NextDrain(const Life& life) const;
  Step NextStaging(const Life& life) const;
  Step NextTrait(const Life& life, Trait trait) const;
  absl::Duration DrainTime(const Life& life) const;

  const FleetOptions options_;
};

}  // namespace muster::fleetsim
