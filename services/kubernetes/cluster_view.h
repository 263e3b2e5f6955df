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

  // The v1 Nodes that are this machine: those whose provider id names it, and the one of its name.
  std::vector<std::shared_ptr<const NodeObject>> NodesOf(const std::string& machine) const;
  // Of several one with a provider id; the one that is ready, else the one whose kubelet posted last,
  // whichever changed last.
  std::shared_ptr<const NodeObject> NodeOf(const std::string& machine) const;
  // Its v1 Node's name, or that of the last one that was seen of it; else its own.
  std::string NodeNameOf(const std::string& machine) const;
  // Those of all of its v1 Nodes, there or gone, but for some: its Pods may be on each.
  std::set<std::string> NodeNamesOf(const std::string& machine,
                                    const std::set<std::string>& without = {}) const;
  // On the v1 Node of that name.
  std::vector<PodObject> PodsOn(const std::string& node) const;
  // On any of the machine's, but for some.
  std::vector<PodObject> PodsOf(const std::string& machine,
                                const std::set<std::string>& without = {}) const;

 private:
  // Which v1 Nodes are whose: of the machine of their provider id, without one of that of their name.
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
  // Whoever the v1 Node may be.
  void TellOfNode(const NodeObject& node) const;

  const Listeners listeners_;
  mutable Mutex mutex_;
  Names there_ MUSTER_GUARDED_BY(mutex_);
  // Since the last one of the machine came: their Pods may still be there, by that name.
  Names gone_ MUSTER_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, absl::flat_hash_set<std::string>> on_node_
      MUSTER_GUARDED_BY(mutex_);  // keys of Pods
  ObjectStore<NodePoolObject> node_pools_;
  ObjectStore<NodeObject> nodes_;
  ObjectStore<PodObject> pods_;
  ObjectStore<NamespaceObject> namespaces_;
};

}  // namespace muster::kubernetes
