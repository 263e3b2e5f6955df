#include "services/kubernetes/cluster_view.h"

#include <tuple>
#include <utility>

namespace muster::kubernetes {
namespace {

template <class Object>
std::string NameOf(const Object& object) {
  return object.name;
}

std::string KeyOf(const PodObject& pod) { return pod.key(); }

std::string MachineOf(const NodeObject& node) {
  const std::string machine = ProviderMachine(node);
  return machine.empty() ? node.name : machine;
}

// Which of two v1 Nodes of one machine counts. Work runs where the kubelet posts; that others write
// to the one that it left says nothing.
bool CountsMore(const NodeObject& one, const NodeObject& other) {
  const auto rank = [](const NodeObject& node) {
    return std::tuple(!ProviderMachine(node).empty(), node.ready.value_or(false),
                      node.heartbeat_time);
  };
  return rank(one) == rank(other) ? one.name < other.name : rank(one) > rank(other);
}

}  // namespace

ClusterView::ClusterView(Listeners listeners, Knows knows)
    : listeners_(std::move(listeners)),
      knows_(std::move(knows)),
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
  const std::string left = before == nullptr ? "" : MachineOf(*before);
  const std::string joined = after == nullptr ? "" : MachineOf(*after);
  if (left != joined) {
    const std::string& name = (after != nullptr ? after : before)->name;
    MutexLock lock(mutex_);
    there_.Erase(name);
    gone_.Erase(name);
    if (after != nullptr) {
      there_.Add(joined, name);
      gone_.EraseOf(joined);
    } else if (left != name || !there_.Of(left).empty() || !gone_.Of(left).empty()) {
      gone_.Add(left, name);
    }
  }
  if (before != nullptr) TellOfNode(*before);
  if (after != nullptr) TellOfNode(*after);
}

void ClusterView::Names::Add(const std::string& machine, const std::string& name) {
  names_[machine].push_back(name);
  machines_[name] = machine;
}

void ClusterView::Names::Erase(const std::string& name) {
  const auto machine = machines_.find(name);
  if (machine == machines_.end()) return;
  const auto names = names_.find(machine->second);
  std::erase(names->second, name);
  if (names->second.empty()) names_.erase(names);
  machines_.erase(machine);
}

void ClusterView::Names::EraseOf(const std::string& machine) {
  for (const std::string& name : Of(machine)) Erase(name);
}

std::vector<std::string> ClusterView::Names::Of(const std::string& machine) const {
  const auto found = names_.find(machine);
  return found == names_.end() ? std::vector<std::string>() : found->second;
}

std::string ClusterView::Names::MachineOf(const std::string& name) const {
  const auto found = machines_.find(name);
  return found == machines_.end() ? "" : found->second;
}

void ClusterView::PodChanged(const PodObject* before, const PodObject* after) {
  // A Pod of the same name may have taken its place on another v1 Node.
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
      for (const Names* known : {&there_, &gone_}) {
        const std::string machine = known->MachineOf(pod->node);
        if (!machine.empty()) machines.insert(machine);
      }
    }
  }
  for (const std::string& machine : machines) listeners_.machine(machine);
}

bool ClusterView::Is(const NodeObject& node, const std::string& machine) const {
  const std::string provided = ProviderMachine(node);
  if (provided == machine) return true;
  const bool is_anothers = !provided.empty() && knows_ && knows_(provided);
  return node.name == machine && !is_anothers;
}

std::vector<std::shared_ptr<const NodeObject>> ClusterView::NodesOf(
    const std::string& machine) const {
  std::vector<std::string> names;
  {
    MutexLock lock(mutex_);
    names = there_.Of(machine);
  }
  if (names.empty()) names.push_back(machine);
  std::vector<std::shared_ptr<const NodeObject>> nodes;
  for (const std::string& name : names) {
    auto node = nodes_.Find(name);
    if (node != nullptr && Is(*node, machine)) nodes.push_back(std::move(node));
  }
  return nodes;
}

std::shared_ptr<const NodeObject> ClusterView::NodeOf(const std::string& machine) const {
  std::shared_ptr<const NodeObject> counts;
  for (auto& node : NodesOf(machine)) {
    if (counts == nullptr || CountsMore(*node, *counts)) counts = std::move(node);
  }
  return counts;
}

std::string ClusterView::NodeNameOf(const std::string& machine) const {
  if (const auto node = NodeOf(machine)) return node->name;
  MutexLock lock(mutex_);
  const std::vector<std::string> gone = gone_.Of(machine);
  return gone.empty() ? machine : gone.back();
}

std::set<std::string> ClusterView::NodeNamesOf(const std::string& machine,
                                               const std::set<std::string>& without) const {
  std::set<std::string> names = {NodeNameOf(machine)};
  // What runs on another machine that bears its name is not its.
  const auto namesake = nodes_.Find(machine);
  if (namesake != nullptr && !Is(*namesake, machine)) names.erase(machine);
  MutexLock lock(mutex_);
  for (const Names* known : {&there_, &gone_}) {
    for (std::string& name : known->Of(machine)) names.insert(std::move(name));
  }
  for (const std::string& name : without) names.erase(name);
  return names;
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

std::vector<PodObject> ClusterView::PodsOf(const std::string& machine,
                                           const std::set<std::string>& without) const {
  std::vector<PodObject> pods;
  for (const std::string& name : NodeNamesOf(machine, without)) {
    for (PodObject& pod : PodsOn(name)) pods.push_back(std::move(pod));
  }
  return pods;
}

}  // namespace muster::kubernetes
