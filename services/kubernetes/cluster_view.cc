#include "services/kubernetes/cluster_view.h"

#include <set>
#include <utility>

namespace muster::kubernetes {
namespace {

template <class Object>
std::string NameOf(const Object& object) {
  return object.name;
}

std::string KeyOf(const PodObject& pod) { return pod.key(); }

}  // namespace

ClusterView::ClusterView(Listeners listeners)
    : listeners_(std::move(listeners)),
      node_pools_({.read = &ReadNodePool,
                   .key = &NameOf<NodePoolObject>,
                   .changed =
                       [this](const NodePoolObject* before, const NodePoolObject* after) {
                         listeners_.node_pool((after != nullptr ? after : before)->name);
                       }}),
      nodes_({.read = &ReadNode,
              .key = &NameOf<NodeObject>,
              .changed = [this](const NodeObject* before,
                                const NodeObject* after) { NodeChanged(before, after); }}),
      pods_({.read = &ReadPod,
             .key = &KeyOf,
             .changed = [this](const PodObject* before,
                               const PodObject* after) { PodChanged(before, after); }}),
      namespaces_({.read = &ReadNamespace,
                   .key = &NameOf<NamespaceObject>,
                   .changed = [this](const NamespaceObject* before, const NamespaceObject* after) {
                     listeners_.name_space((after != nullptr ? after : before)->name);
                   }}) {}

void ClusterView::TellOfNode(const NodeObject& node) const {
  const std::string machine = ProviderMachine(node);
  if (!machine.empty()) listeners_.machine(machine);
  if (machine != node.name) listeners_.machine(node.name);
}

void ClusterView::NodeChanged(const NodeObject* before, const NodeObject* after) {
  {
    MutexLock lock(mutex_);
    if (before != nullptr) {
      const auto found = by_machine_.find(ProviderMachine(*before));
      if (found != by_machine_.end() && found->second == before->name) by_machine_.erase(found);
      machine_of_.erase(before->name);
    }
    const std::string machine = after == nullptr ? "" : ProviderMachine(*after);
    if (after != nullptr) ForgetLast(machine, after->name);
    if (!machine.empty()) {
      by_machine_[machine] = after->name;
      machine_of_[after->name] = machine;
    }
    const std::string left = before == nullptr ? "" : ProviderMachine(*before);
    if (after == nullptr && !left.empty() && !by_machine_.contains(left)) {
      ForgetLast(left, before->name);
      last_name_[left] = before->name;
      last_machine_[before->name] = left;
    }
  }
  if (before != nullptr) TellOfNode(*before);
  if (after != nullptr) TellOfNode(*after);
}

void ClusterView::ForgetLast(const std::string& machine, const std::string& name) {
  if (const auto found = last_name_.find(machine); found != last_name_.end()) {
    last_machine_.erase(found->second);
    last_name_.erase(found);
  }
  if (const auto found = last_machine_.find(name); found != last_machine_.end()) {
    last_name_.erase(found->second);
    last_machine_.erase(found);
  }
}

void ClusterView::PodChanged(const PodObject* before, const PodObject* after) {
  // One of the same name may have taken its place elsewhere.
  std::set<std::string> machines;
  {
    MutexLock lock(mutex_);
    if (before != nullptr && (after == nullptr || after->node != before->node)) {
      const auto found = on_node_.find(before->node);
      if (found != on_node_.end()) found->second.erase(before->key());
      if (found != on_node_.end() && found->second.empty()) on_node_.erase(found);
    }
    if (after != nullptr && !after->node.empty()) on_node_[after->node].insert(after->key());
    for (const PodObject* pod : {before, after}) {
      if (pod == nullptr || pod->node.empty()) continue;
      machines.insert(pod->node);
      for (const auto* known : {&machine_of_, &last_machine_}) {
        const auto found = known->find(pod->node);
        if (found != known->end()) machines.insert(found->second);
      }
    }
  }
  for (const std::string& machine : machines) listeners_.machine(machine);
}

std::shared_ptr<const NodeObject> ClusterView::NodeOf(const std::string& machine) const {
  std::string name = machine;
  {
    MutexLock lock(mutex_);
    const auto found = by_machine_.find(machine);
    if (found != by_machine_.end()) name = found->second;
  }
  return nodes_.Find(name);
}

std::string ClusterView::NodeNameOf(const std::string& machine) const {
  MutexLock lock(mutex_);
  for (const auto* known : {&by_machine_, &last_name_}) {
    const auto found = known->find(machine);
    if (found != known->end()) return found->second;
  }
  return machine;
}

std::vector<PodObject> ClusterView::PodsOn(const std::string& node) const {
  std::vector<std::string> keys;
  {
    MutexLock lock(mutex_);
    const auto found = on_node_.find(node);
    if (found != on_node_.end()) keys.assign(found->second.begin(), found->second.end());
  }
  std::vector<PodObject> pods;
  for (const std::string& key : keys) {
    if (const auto pod = pods_.Find(key); pod != nullptr && pod->node == node) pods.push_back(*pod);
  }
  return pods;
}

}  // namespace muster::kubernetes
