#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/common/interned.h"

// The rows of the configuration domain. Plain values; copyable.
namespace muster::configuration {

// Where releases are published to; a pool's release train follows one.
enum class Channel { kStable, kLatest };

// What is released.
enum class Component { kGpuDriver, kNcoreImage, kKubernetes, kKernel };

// How updates are staged onto a pool (reference: nodeConfigurationUpdateStrategy).
enum class Strategy { kManual, kOnSpecUpdate, kAlways };

// What upstream has published. One that is withdrawn is resolved no more, and can be forgotten
// then.
struct Release {
  static constexpr char kKind[] = "Release";

  Channel channel = Channel::kStable;
  Component component = Component::kGpuDriver;
  std::string version = {};  // see IsReleaseVersion
  absl::Time create_time = absl::UnixEpoch();
  std::optional<absl::Time> withdraw_time = {};  // none: it is in force
  Word later = {};                               // see services/common/state.h

  std::string Key() const;
  bool operator==(const Release&) const = default;
};

// All that a Node boots. Immutable: its id is made from the content, see ProfileId.
struct NodeProfile {
  static constexpr char kKind[] = "NodeProfile";

  std::string id = {};      // `np-` and 12 hex
  std::string image = {};   // version of the ncore image
  std::string kernel = {};  // empty: the image's own
  Channel release_train = Channel::kStable;
  std::string gpu_driver = {};  // full version; empty on CPU types
  std::string kubernetes = {};
  Word later = {};  // see services/common/state.h

  std::string Key() const;
  bool operator==(const NodeProfile&) const = default;
};

// What a pool's spec says about what its Nodes boot.
struct Spec {
  std::string image_name = {};
  std::string image_kernel = {};
  Channel release_train = Channel::kStable;
  std::string gpu_version = {};  // a bare major number; empty: the newest
  bool gpu = false;              // the instance type needs a driver
  std::string kubernetes = {};   // the cluster's; empty: the newest
  Strategy strategy = Strategy::kOnSpecUpdate;

  bool operator==(const Spec&) const = default;
};

// A configuration that a pool has, had or may get.
struct Revision {
  std::string node_profile = {};
  absl::Time create_time = absl::UnixEpoch();  // when it was first made for the pool
  std::vector<std::string> summary = {};       // one fact each
  bool disabled = false;     // its boots failed too often; set only in `revisions`
  int64_t enable_count = 0;  // how often it was enabled again; likewise

  bool operator==(const Revision&) const = default;
};

enum class OrderKind { kPromote, kRollback };
enum class OrderOutcome { kWaiting, kDone, kNoPending, kRollbackFailed, kConflict, kReplaced };

// What came of one promotion or rollback. What each outcome means: configuration.proto.
struct Order {
  int64_t number = 0;  // 1, 2, ... within the pool
  OrderKind kind = OrderKind::kPromote;
  std::string requested = {};     // a profile id, `pending` or `previous`
  std::string node_profile = {};  // empty: it came to none
  OrderOutcome outcome = OrderOutcome::kDone;
  std::string message = {};
  absl::Time create_time = absl::UnixEpoch();

  bool operator==(const Order&) const = default;
};

// What the Nodes of one pool boot. Invariants, kept by strategy.h, orders.h and
// breaker.h:
//  * revisions.back() is the active one; no profile stands twice in `revisions`;
//  * `pending` and `problem` are never both set;
//  * no two of active, `waiting` and `pending` are the same profile;
//  * something waits only while Nodes are in delivery, and never as the first profile;
//  * what waits is not disabled;
//  * at most one order waits, and only while something does: it came to that profile;
//  * `pinned` is sorted, and holds the active one only while a rollback from it waits; `orders` is
//  sorted by number.
struct PoolConfiguration {
  static constexpr char kKind[] = "PoolConfiguration";

  std::string pool_uid = {};
  int64_t generation = 0;  // of the last request that was taken
  Spec spec = {};          // what it asked for
  Revision pending = {};   // no node_profile: nothing waits to be promoted
  std::vector<Revision> revisions = {};
  std::string problem = {};              // empty: resolved
  Revision waiting = {};                 // to become active; no node_profile: nothing
  std::vector<std::string> pinned = {};  // rolled back from: not staged by themselves
  std::vector<Order> orders = {};        // promotions and rollbacks, see forget.h
  bool mid_delivery = false;             // Nodes are in delivery: the active one does not switch
  bool spec_unmet = false;               // the problem holds up the spec's own change
  bool problem_of_spec = false;          // the problem is about what the spec names
  std::string pool = {};                 // the pool's name; empty: not told yet
  Word later = {};                       // see services/common/state.h

  // Profile id that Nodes should boot; empty until the first resolution.
  std::string active() const { return revisions.empty() ? "" : revisions.back().node_profile; }
  bool has_pending() const { return !pending.node_profile.empty(); }
  bool has_waiting() const { return !waiting.node_profile.empty(); }

  std::string Key() const;
  size_t JournalBytes() const;  // see services/common/state.h
  bool operator==(const PoolConfiguration&) const = default;
};

}  // namespace muster::configuration
