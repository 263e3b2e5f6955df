#include "services/kubernetes/muster_view.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <utility>

#include "services/common/resource_name.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/node_metadata.h"
#include "services/kubernetes/core/node_plan.h"
#include "services/kubernetes/core/text.h"

namespace muster::kubernetes {
namespace {

namespace v1 = lifecycle::v1;

// Machines of which the end of a life is remembered.
constexpr size_t kMostEnded = 100'000;

void EraseFrom(absl::flat_hash_map<std::string, absl::flat_hash_set<std::string>>& index,
               const std::string& key, const std::string& name) {
  const auto found = index.find(key);
  if (found == index.end()) return;
  found->second.erase(name);
  if (found->second.empty()) index.erase(found);
}

}  // namespace

void MusterView::Take(const v1::WatchLifecycleResponse& message, absl::Time now) {
  MutexLock lock(mutex_);
  TakeOne(message, now);
  for (const v1::WatchLifecycleResponse& next : message.bundle()) TakeOne(next, now);
}

void MusterView::TakeOne(const v1::WatchLifecycleResponse& message, absl::Time now) {
  if (message.has_node_pool()) Put(message.node_pool(), now);
  if (message.has_node()) Put(message.node());
  if (message.has_event()) listeners_.event(message.event());
  if (message.type() == type::v1::WATCH_EVENT_TYPE_DELETED) Remove(message.key(), true);
  if (message.type() == type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END) EndSnapshot(message.incarnation());
}

void MusterView::BeginSnapshot() {
  MutexLock lock(mutex_);
  unnamed_.clear();
  for (const auto& [id, pool] : pools_) {
    if (pool.view.pool != nullptr) unnamed_.insert(pool.view.pool->name());
  }
  for (const auto& [name, node] : nodes_) unnamed_.insert(name);
  listeners_.history(std::nullopt);
}

void MusterView::EndSnapshot(const std::string& incarnation) {
  listeners_.history(incarnation);
  const bool another = std::exchange(incarnation_, incarnation) != incarnation;
  if (another) {
    ended_.clear();
    ended_pools_.clear();
  }
  for (const std::string& name : std::exchange(unnamed_, {})) Remove(name, false);
  // In another history also what looks the same was said by nobody.
  if (std::exchange(synced_, true) && !another) return;
  for (const auto& [id, pool] : pools_) listeners_.node_pool(id);
  for (const auto& [name, node] : nodes_) listeners_.machine(node->machine());
}

template <class Message>
bool MusterView::IsSame(const Message& known, const Message& told) {
  return google::protobuf::util::MessageDifferencer::Equals(known, told);
}

void MusterView::Put(const NodePool& pool, absl::Time now) {
  unnamed_.erase(pool.name());
  const std::string id(LastIdOf(pool.name()));
  Pool_& known = pools_[id];
  if (known.view.pool != nullptr && IsSame(*known.view.pool, pool) &&
      known.view.pool->uid() == pool.uid()) {
    return;
  }
  known.view.pool = std::make_shared<const NodePool>(pool);
  known.view.unseen_since = std::min(known.view.unseen_since, now);
  known.changed = now;
  listeners_.node_pool(id);
}

void MusterView::Put(const Node& node) {
  unnamed_.erase(node.name());
  std::shared_ptr<const Node>& known = nodes_[node.name()];
  if (known != nullptr && IsSame(*known, node) &&
      google::protobuf::util::MessageDifferencer::Equals(known->create_time(),
                                                         node.create_time())) {
    return;
  }
  if (known != nullptr) {
    EraseFrom(lives_, known->machine(), node.name());
    EraseFrom(of_pool_, known->pool_uid(), node.name());
    if (LifeMark(*known) != LifeMark(node)) NoteEnd(*known);
  }
  known = std::make_shared<const Node>(node);
  lives_[node.machine()].insert(node.name());
  of_pool_[node.pool_uid()].insert(node.name());
  listeners_.machine(node.machine());
}

void MusterView::Remove(const std::string& name, bool told) {
  if (IsPoolName(name)) {
    const auto pool = pools_.find(LastIdOf(name));
    if (pool == pools_.end()) return;
    if (told && pool->second.view.pool != nullptr) NoteEndOfPool(pool->second.view.pool->uid());
    pools_.erase(pool);
    listeners_.node_pool(std::string(LastIdOf(name)));
    return;
  }
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  const std::shared_ptr<const Node> node = std::move(found->second);
  nodes_.erase(found);
  if (told) NoteEnd(*node);
  EraseFrom(lives_, node->machine(), name);
  EraseFrom(of_pool_, node->pool_uid(), name);
  listeners_.machine(node->machine());
}

void MusterView::NoteEnd(const Node& node) {
  if (ended_.size() >= kMostEnded) ended_.clear();
  std::string& last = ended_[node.machine()];
  last = std::max(last, LifeMark(node));
}

void MusterView::NoteEndOfPool(const std::string& uid) {
  if (ended_pools_.size() >= kMostEnded) ended_pools_.clear();
  ended_pools_.insert(uid);
}

bool MusterView::SawEndOfPool(const std::string& uid) const {
  MutexLock lock(mutex_);
  return ended_pools_.contains(uid);
}

bool MusterView::SawEndOf(const NodeObject& object) const {
  const auto mark = object.annotations.find(kLifeAnnotation);
  if (mark == object.annotations.end()) return false;
  MutexLock lock(mutex_);
  for (const std::string& machine : {ProviderMachine(object), object.name}) {
    const auto found = ended_.find(machine);
    if (found != ended_.end() && mark->second <= found->second) return true;
  }
  return false;
}

bool MusterView::synced() const {
  MutexLock lock(mutex_);
  return synced_;
}

MusterView::PoolView MusterView::Pool(const std::string& name) const {
  MutexLock lock(mutex_);
  const auto found = pools_.find(name);
  return found == pools_.end() ? PoolView() : found->second.view;
}

std::shared_ptr<const v1::Node> MusterView::NodeOf(const std::string& machine) const {
  MutexLock lock(mutex_);
  std::shared_ptr<const Node> last;
  const auto found = lives_.find(machine);
  if (found == lives_.end()) return last;
  for (const std::string& name : found->second) {
    const std::shared_ptr<const Node>& node = nodes_.at(name);
    if (last == nullptr || TimeOf(last->create_time()) < TimeOf(node->create_time())) last = node;
  }
  return last;
}

std::vector<std::shared_ptr<const v1::Node>> MusterView::NodesOf(
    const std::string& pool_uid) const {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<const Node>> nodes;
  const auto found = of_pool_.find(pool_uid);
  if (found == of_pool_.end()) return nodes;
  for (const std::string& name : found->second) {
    const std::shared_ptr<const Node>& node = nodes_.at(name);
    if (!IsOver(node->state())) nodes.push_back(node);
  }
  return nodes;
}

std::vector<std::shared_ptr<const v1::NodePool>> MusterView::AllPools() const {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<const NodePool>> all;
  for (const auto& [id, pool] : pools_) {
    if (pool.view.pool != nullptr) all.push_back(pool.view.pool);
  }
  return all;
}

void MusterView::SetShown(const std::string& name, const PoolView& view) {
  MutexLock lock(mutex_);
  const auto found = pools_.find(name);
  if (found == pools_.end()) return;
  Pool_& known = found->second;
  // What came meanwhile is not shown yet; when the first of it came is not known any more.
  known.view.unseen_since = known.view.pool == view.pool ? absl::InfiniteFuture() : known.changed;
}

size_t MusterView::pools() const {
  MutexLock lock(mutex_);
  return pools_.size();
}

size_t MusterView::nodes() const {
  MutexLock lock(mutex_);
  return nodes_.size();
}

}  // namespace muster::kubernetes
