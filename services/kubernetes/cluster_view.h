#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "services/common/mutex.h"
#include "services/kubernetes/core/objects.h"
#include "services/kubernetes/object_store.h"

namespace muster::kubernetes {

// The objects of the cluster as last seen; calls the listeners when one changes. Thread-safe.
class ClusterView {
 public:
  using Listener = std::function<void(const std::string& key)>;
  struct Listeners {
    Listener node_pool = {};   // name
    Listener machine = {};     // id
    Listener name_space = {};  // name
  };

  // Whether Muster has that machine as a Node of the cluster. Called without locks.
  using Knows = std::function<bool(const std::string& machine)>;

  // `knows` empty: it has none.
  explicit ClusterView(Listeners listeners, Knows knows = {});

  ObjectStore<NodePoolObject>& node_pools() { return node_pools_; }
  ObjectStore<NodeObject>& nodes() { return nodes_; }
  ObjectStore<PodObject>& pods() { return pods_; }
  ObjectStore<NamespaceObject>& namespaces() { return namespaces_; }

  // Whether the v1 Node is that machine: its provider id names it; or it bears its name, and the
  // provider id names no machine that Muster has.
  bool Is(const NodeObject& node, const std::string& machine) const;
  // The v1 Nodes that are this machine: those whose provider id names it, and the one of its name.
  std::vector<std::shared_ptr<const NodeObject>> NodesOf(const std::string& machine) const;
  // The one of these that counts; null: there is none. One with a provider id comes before others,
  // then one that is ready, then the one whose kubelet posted last.
  std::shared_ptr<const NodeObject> NodeOf(const std::string& machine) const;
  // The name of the machine's v1 Node, or of the last one that it had; else the machine's own id.
  std::string NodeNameOf(const std::string& machine) const;
  // The names of all v1 Nodes that it has or had, except `without`: its Pods may be on any of them.
  std::set<std::string> NodeNamesOf(const std::string& machine,
                                    const std::set<std::string>& without = {}) const;
  // The Pods on the v1 Node of that name.
  std::vector<PodObject> PodsOn(const std::string& node) const;
  // The Pods on any v1 Node that the machine has or had, except `without`.
  std::vector<PodObject> PodsOf(const std::string& machine,
                                const std::set<std::string>& without = {}) const;

 private:
  // Which v1 Nodes belong to which machine: that of their provider id, or if they have none of
  // their name.
  class Names {
   public:
    void Add(const std::string& machine, const std::string& name);
    void Erase(const std::string& name);
    void EraseOf(const std::string& machine);
    // In the order in which they were added.
    std::vector<std::string> Of(const std::string& machine) const;
    // Empty: it is not known.
    std::string MachineOf(const std::string& name) const;

   private:
    absl::flat_hash_map<std::string, std::vector<std::string>> names_ = {};
    absl::flat_hash_map<std::string, std::string> machines_ = {};
  };

  void NodeChanged(const NodeObject* before, const NodeObject* after);
  void PodChanged(const PodObject* before, const PodObject* after);
  // Calls the listener for every machine that the v1 Node may be.
  void TellOfNode(const NodeObject& node) const;

  const Listeners listeners_;
  const Knows knows_;
  mutable Mutex mutex_;
  Names there_ MUSTER_GUARDED_BY(mutex_);
  // v1 Nodes that went since the machine's last one came: Pods may still be there under their
  // names.
  Names gone_ MUSTER_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, absl::flat_hash_set<std::string>> on_node_
      MUSTER_GUARDED_BY(mutex_);  // keys of Pods
  ObjectStore<NodePoolObject> node_pools_;
  ObjectStore<NodeObject> nodes_;
  ObjectStore<PodObject> pods_;
  ObjectStore<NamespaceObject> namespaces_;
};

}  // namespace muster::kubernetes
