#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "services/common/mutex.h"
#include "services/kubernetes/core/objects.h"
#include "services/kubernetes/object_store.h"

namespace muster::kubernetes {

// The objects of the cluster as last seen, and who has to look when one changes. Thread-safe.
class ClusterView {
 public:
  using Listener = std::function<void(const std::string& key)>;
  struct Listeners {
    Listener node_pool = {};   // name
    Listener machine = {};     // id
    Listener name_space = {};  // name
  };

  explicit ClusterView(Listeners listeners);

  ObjectStore<NodePoolObject>& node_pools() { return node_pools_; }
  ObjectStore<NodeObject>& nodes() { return nodes_; }
  ObjectStore<PodObject>& pods() { return pods_; }
  ObjectStore<NamespaceObject>& namespaces() { return namespaces_; }

  // The v1 Node that is this machine: the one whose provider id names it, else the one of its name.
  std::shared_ptr<const NodeObject> NodeOf(const std::string& machine) const;
  // Its v1 Node's name, or that of the last one that was seen of it; else its own.
  std::string NodeNameOf(const std::string& machine) const;
  // On the v1 Node of that name.
  std::vector<PodObject> PodsOn(const std::string& node) const;

 private:
  void NodeChanged(const NodeObject* before, const NodeObject* after);
  void PodChanged(const PodObject* before, const PodObject* after);
  void ForgetLast(const std::string& machine, const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whoever the v1 Node may be.
  void TellOfNode(const NodeObject& node) const;

  const Listeners listeners_;
  mutable Mutex mutex_;
  absl::flat_hash_map<std::string, std::string> by_machine_
      MUSTER_GUARDED_BY(mutex_);  // provider id's machine -> name
  absl::flat_hash_map<std::string, std::string> machine_of_ MUSTER_GUARDED_BY(mutex_);
  // The same of v1 Nodes that are gone: their Pods may still be there, by that name.
  absl::flat_hash_map<std::string, std::string> last_name_ MUSTER_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, std::string> last_machine_ MUSTER_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, absl::flat_hash_set<std::string>> on_node_
      MUSTER_GUARDED_BY(mutex_);  // keys of Pods
  ObjectStore<NodePoolObject> node_pools_;
  ObjectStore<NodeObject> nodes_;
  ObjectStore<PodObject> pods_;
  ObjectStore<NamespaceObject> namespaces_;
};

}  // namespace muster::kubernetes
