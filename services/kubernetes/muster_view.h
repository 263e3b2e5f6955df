#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"
#include "muster/lifecycle/v1/lifecycle_service.pb.h"
#include "services/common/mutex.h"
#include "services/kubernetes/core/objects.h"
#include "services/kubernetes/core/status.h"

namespace muster::kubernetes {

// What Muster last said of a cluster; calls the listeners when it says something new. Thread-safe.
class MusterView {
 public:
  using NodePool = lifecycle::v1::NodePool;
  using Node = lifecycle::v1::Node;

  // Called under the view's lock: they must not ask it.
  struct Listeners {
    std::function<void(const std::string& name)> node_pool = {};   // id, as the object's name
    std::function<void(const std::string& machine)> machine = {};  // id
    std::function<void(const lifecycle::v1::Event& event)> event = {};
    // The history that is seen now; nullopt: not known until a snapshot ends. Called before the
    // listeners are told of what is gone in it.
    std::function<void(const std::optional<std::string>& incarnation)> history = {};
  };
  struct PoolView {
    std::shared_ptr<const NodePool> pool = {};  // null: there is none
    // Since when something of it may not be shown by the object yet; infinite future: it all is.
    absl::Time unseen_since = absl::InfiniteFuture();
  };

  explicit MusterView(Listeners listeners) : listeners_(std::move(listeners)) {}

  // One message of WatchLifecycle, its bundle included. `now`: of a clock that only goes forward.
  void Take(const lifecycle::v1::WatchLifecycleResponse& message, absl::Time now);
  // A stream begins with a snapshot: what it does not name is gone at its end.
  void BeginSnapshot();
  // A snapshot was taken whole, once at least.
  bool synced() const;

  PoolView Pool(const std::string& name) const;
  // The Node of the machine's last life that is known; null: none.
  std::shared_ptr<const Node> NodeOf(const std::string& machine) const;
  // The pool's Nodes, but those that only wait for their machines to be taken back (IsOver).
  std::vector<std::shared_ptr<const Node>> NodesOf(const std::string& pool_uid) const;
  std::vector<std::shared_ptr<const NodePool>> AllPools() const;
  // Whether Muster told, in the history that it is in, that the life ended that the v1 Node was
  // taken for: then it is no mere absence that Muster does not know it.
  bool SawEndOf(const NodeObject& object) const;
  // Likewise of a NodePool.
  bool SawEndOfPool(const std::string& uid) const;

  // The object shows all that was known of the pool when `view` was taken.
  void SetShown(const std::string& name, const PoolView& view);

  size_t pools() const;
  size_t nodes() const;

 private:
  struct Pool_ {
    PoolView view = {};
    absl::Time changed = absl::InfinitePast();
  };

  void TakeOne(const lifecycle::v1::WatchLifecycleResponse& message, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  template <class Message>
  static bool IsSame(const Message& known, const Message& told);
  void Put(const NodePool& pool, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Put(const Node& node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // By resource name; `told`: by a message of its own.
  void Remove(const std::string& name, bool told) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteEnd(const Node& node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteEndOfPool(const std::string& uid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndSnapshot(const std::string& incarnation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Listeners listeners_;
  mutable Mutex mutex_;
  bool synced_ MUSTER_GUARDED_BY(mutex_) = false;
  std::string incarnation_ MUSTER_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, std::string> ended_
      MUSTER_GUARDED_BY(mutex_);                                             // machine -> LifeMark
  absl::flat_hash_set<std::string> ended_pools_ MUSTER_GUARDED_BY(mutex_);   // uids
  absl::flat_hash_set<std::string> unnamed_ MUSTER_GUARDED_BY(mutex_);       // resource names
  absl::flat_hash_map<std::string, Pool_> pools_ MUSTER_GUARDED_BY(mutex_);  // by id
  absl::flat_hash_map<std::string, std::shared_ptr<const Node>> nodes_
      MUSTER_GUARDED_BY(mutex_);  // by resource name
  absl::flat_hash_map<std::string, absl::flat_hash_set<std::string>> lives_
      MUSTER_GUARDED_BY(mutex_);  // machine -> resource names
  absl::flat_hash_map<std::string, absl::flat_hash_set<std::string>> of_pool_
      MUSTER_GUARDED_BY(mutex_);  // pool uid -> resource names
};

}  // namespace muster::kubernetes
