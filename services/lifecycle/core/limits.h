#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

// Every limit of the lifecycle domain.
namespace muster::lifecycle {

// Nodes that one pool may ask for.
inline constexpr int64_t kMaxTargetNodes = 100'000;
// Bytes of a pool's id: it is a label value on its Nodes.
inline constexpr size_t kMaxPoolIdBytes = 63;
// Characters of spec.description.
inline constexpr int64_t kMaxDescriptionCharacters = 256;
// Labels, annotations and taints that one pool may put on its Nodes.
inline constexpr size_t kMaxNodeLabels = 64;
inline constexpr size_t kMaxNodeAnnotations = 64;
inline constexpr size_t kMaxNodeTaints = 32;
// Bytes of all annotations of one pool, keys and values. Kubernetes allows 256 KiB an object; we
// keep one copy a Node.
inline constexpr size_t kMaxAnnotationBytes = 16 * 1024;
// Bytes of spec.image.name, spec.image.kernel.
inline constexpr size_t kMaxImageBytes = 128;
// Digits of spec.gpu.version.
inline constexpr size_t kMaxGpuVersionDigits = 6;
// Machines that one pass gives back; the claim request takes no more.
inline constexpr size_t kMaxReturns = 1'000;
// Nodes that one plan creates or moves; the pool is due again at once. Small enough that reports
// about other Nodes of a large busy pool do not outdate every plan.
inline constexpr size_t kMaxStepsAPlan = 200;
// Events kept for one pool and its Nodes; and how many are forgotten at once when there are so
// many: first those of a Node that has newer ones, then each Node's newest, the pool's own last.
inline constexpr size_t kMaxEventsAPool = 1'000;
inline constexpr size_t kForgottenEvents = 100;
// Events of deleted pools that one command forgets.
inline constexpr size_t kMaxExpiredEvents = 500;
// NodePools whose accounts one command raises in a new history: some 2 MB of rows and journal.
inline constexpr size_t kMaxRaisedPools = 500;
// Events of all deleted pools that are kept, however young: some 1 KB of memory each.
inline constexpr size_t kMaxGoneEvents = 1'000'000;

// The highest generation that is believed when a service says that it knows one: the pool's own
// have to go on above it.
inline constexpr int64_t kMaxGeneration = int64_t{1} << 62;
// By how much accounts' generations are raised in a new history, at least: more than a pool can
// have used in the part that was lost.
inline constexpr int64_t kHistoryJump = int64_t{1} << 20;
// Machines whose boot failures in a row are remembered.
inline constexpr size_t kMaxBootFailures = 64;
// Machines named in one request: victims, reconfigure reboots.
inline constexpr size_t kMaxNamedMachines = 1'000;
// Terms of a node affinity, expressions of a term, values of an expression.
inline constexpr size_t kMaxAffinityTerms = 16;
inline constexpr size_t kMaxAffinityExpressions = 16;
inline constexpr size_t kMaxAffinityValues = 64;
// Bytes of the keys and values of all its terms.
inline constexpr size_t kMaxAffinityBytes = 16 * 1024;
// How long an order to go on with removals may be valid, and how long it is by default.
inline constexpr absl::Duration kMaxAllowanceTtl = absl::Hours(24);
inline constexpr absl::Duration kAllowanceTtl = absl::Hours(1);
// spec.prefill.
inline constexpr int64_t kMaxPrefillSeconds = 86'400;
inline constexpr int64_t kMaxPrefillNodes = 4;
inline constexpr absl::Duration kPrefillTimeout = absl::Minutes(30);
// Spot preemption, as users are promised. From T+0: until the drain begins, and until the Node is
// removed whatever is on it.
inline constexpr absl::Duration kPreemptionDrain = absl::Minutes(2);
inline constexpr absl::Duration kPreemptionEnd = absl::Minutes(7);

// Unhealthy times of a Node add up within this, or longer (health.h).
inline constexpr absl::Duration kHealthWindow = absl::Minutes(30);

// A Node whose agent was told to end it is expected to be gone within this.
inline constexpr absl::Duration kTerminationGrace = absl::Minutes(15);

// For how long the status shows that the pool's claim does not hold some Node's machine before such
// Nodes go: capacity forgot them (it was restored to a past), and somebody may know better. It is
// the pool's, and counts from when the status first showed any: a Node that joins them later gets
// what is left of it.
inline constexpr absl::Duration kUnheldGrace = absl::Minutes(15);

// A machine that may not boot, because the active configuration is disabled, is given back after
// this.
inline constexpr absl::Duration kUnbootableGrace = absl::Minutes(30);

// What one organization may have. Flags of the server.
struct OrganizationLimits {
  int64_t pools = 10'000;  // those that are being deleted, too
  int64_t clusters = 1'000;
};

// How long things may take. All are flags of the server.
struct Policy {
  // From the order to boot until the Node takes work; then it counts as failed.
  absl::Duration boot_deadline = absl::Minutes(30);
  // From the start of a drain until what is left is deleted by force: PreferIdle and pool deletion.
  absl::Duration drain_deadline = absl::Minutes(15);
  // Between cordon and drain, or the reboot of an idle Node: work that was placed on the Node
  // meanwhile is seen, and the Node let go again or waited for.
  absl::Duration cordon_settle = absl::Seconds(2);
  // How long that waits at most for the agent to say that the Node is cordoned.
  absl::Duration cordon_patience = absl::Minutes(2);
  // Spot preemption, from T+0: see kPreemptionDrain and kPreemptionEnd.
  absl::Duration preemption_notice = kPreemptionDrain;
  absl::Duration preemption_end = kPreemptionEnd;
  // An unhealthy Node may recover for so long before it is replaced.
  absl::Duration triage_grace = absl::Minutes(5);
  // How many Nodes of a pool may be given up within an interval because time went by (boots that
  // did not end, Nodes that did not recover), in percent of its Nodes, at least 1 Node: a wrong
  // clock or a network outage must not cost a pool all its Nodes at once.
  int64_t give_up_percent = 10;
  absl::Duration give_up_interval = absl::Minutes(10);
  // A pool whose services did not answer is due again after this.
  absl::Duration retry = absl::Seconds(5);
};

}  // namespace muster::lifecycle
