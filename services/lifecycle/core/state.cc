#include "services/lifecycle/core/state.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/condition_names.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/node_machine.h"

namespace muster::lifecycle {
namespace {

std::string QuotaKey(absl::string_view organization, absl::string_view zone,
                     absl::string_view instance_type, absl::string_view compute_class) {
  return absl::StrCat(organization, "/", zone, "~", instance_type, "~",
                      compute_class.empty() ? "default" : compute_class);
}

std::string QuotaKeyOf(const Pool& pool) {
  return QuotaKey(OrganizationOf(pool.name), pool.zone, pool.spec.instance_type,
                  pool.spec.compute_class);
}

std::string CapacityKey(absl::string_view zone, absl::string_view instance_type) {
  return absl::StrCat(zone, "~", instance_type);
}

std::string CapacityKeyOf(const Pool& pool) {
  return CapacityKey(pool.zone, pool.spec.instance_type);
}

// The beginning of an event's name, or of a prefix of such names, up to and including the `/`
// behind its cluster. Empty when the name ends before that.
absl::string_view ClusterPart(absl::string_view name) {
  size_t end = 0;
  for (int part = 0; part < 4; ++part) {  // `organizations/ID/clusters/ID/...`
    const size_t slash = name.find('/', end);
    if (slash == absl::string_view::npos) return "";
    end = slash + 1;
  }
  return name.substr(0, end);
}

template <class Map, class Value>
void EraseFrom(Map& map, absl::string_view key, const Value& value) {
  const auto it = map.find(key);
  if (it == map.end()) return;
  it->second.erase(value);
  if (it->second.empty()) map.erase(it);
}

}  // namespace

State::State() = default;
State::State(const State&) = default;
State::State(State&&) noexcept = default;
State& State::operator=(const State&) = default;
State& State::operator=(State&&) noexcept = default;
State::~State() = default;

const Pool* State::FindPoolByUid(absl::string_view uid) const {
  const auto it = pool_by_uid_.find(uid);
  return it == pool_by_uid_.end() ? nullptr : table<Pool>().Find(it->second);
}

void State::ForEachPoolOf(absl::string_view cluster_name,
                          absl::FunctionRef<bool(const Pool&)> f) const {
  const auto& rows = table<Pool>().rows();
  const NameRange names = PoolNamesOf(cluster_name);
  const auto end = rows.lower_bound(names.end);
  for (auto it = rows.lower_bound(names.begin); it != end && f(*it->second.row); ++it) {
  }
}

void State::ForEachNodeOf(absl::string_view pool_name,
                          absl::FunctionRef<void(const Versioned<Node>&)> f) const {
  const auto& rows = table<Node>().rows();
  const NameRange names = NodeNamesOf(pool_name);
  // No name is compared within the range.
  const auto end = rows.lower_bound(names.end);
  for (auto it = rows.lower_bound(names.begin); it != end; ++it) f(it->second);
}

std::vector<const Node*> State::NodesOf(absl::string_view pool_name) const {
  std::vector<const Node*> nodes;
  ForEachNodeOf(pool_name, [&](const Versioned<Node>& node) { nodes.push_back(node.row.get()); });
  return nodes;
}

int64_t State::VersionOf(absl::string_view pool_name) const {
  const Versioned<Pool>* pool = table<Pool>().FindVersioned(pool_name);
  if (pool == nullptr) return 0;
  int64_t version = pool->revision;
  ForEachNodeOf(pool_name,
                [&](const Versioned<Node>& node) { version = std::max(version, node.revision); });
  return version;
}

namespace {

const State::Names* FindNames(const absl::flat_hash_map<std::string, State::Names>& index,
                              const std::string& key) {
  const auto it = index.find(key);
  return it == index.end() ? nullptr : &it->second;
}

bool IsShortOfQuota(const Pool& pool) {
  // The condition is about the target alone: with Nodes that leave or come early the pool may want
  // more.
  return ReasonOf(pool.status.conditions, condition::kQuota) != reason::kUnder ||
         pool.account.granted_nodes < pool.wanted_nodes();
}

// Whether changes of the machines in service matter to the pool. One that asks for nothing is short
// of nothing, and yet becomes invalid when the last machine goes that its affinity matches.
bool IsMovedByStock(const Pool& pool) {
  const bool is_short =
      ReasonOf(pool.status.conditions, condition::kCapacity) != reason::kSufficient;
  return is_short || (!pool.spec.node_affinity.empty() && pool.target_nodes() == 0);
}

}  // namespace

const State::Names* State::PoolsOnQuota(absl::string_view organization, absl::string_view zone,
                                        absl::string_view instance_type,
                                        absl::string_view compute_class) const {
  return FindNames(pools_by_quota_, QuotaKey(organization, zone, instance_type, compute_class));
}

const State::Names* State::PoolsShortOfQuota(absl::string_view organization, absl::string_view zone,
                                             absl::string_view instance_type,
                                             absl::string_view compute_class) const {
  return FindNames(pools_short_of_quota_,
                   QuotaKey(organization, zone, instance_type, compute_class));
}

const State::Names* State::AutoscaledOnQuota(absl::string_view organization, absl::string_view zone,
                                             absl::string_view instance_type,
                                             absl::string_view compute_class) const {
  return FindNames(autoscaled_by_quota_,
                   QuotaKey(organization, zone, instance_type, compute_class));
}

const State::Names* State::PoolsShortOfCapacity(absl::string_view zone,
                                                absl::string_view instance_type) const {
  return FindNames(pools_short_of_capacity_, CapacityKey(zone, instance_type));
}

std::vector<std::string> State::TakenElsewhere(absl::string_view pool_uid,
                                               const std::vector<std::string>& machines) const {
  std::vector<std::string> taken;
  for (const std::string& machine : machines) {
    const auto [begin, end] = staying_.equal_range(absl::string_view(machine));
    const bool elsewhere =
        std::any_of(begin, end, [&](const Node* node) { return node->pool_uid != pool_uid; });
    if (elsewhere) taken.push_back(machine);
  }
  return taken;
}

const State::EventsByTime* State::EventsOf(absl::string_view pool_uid) const {
  const auto it = events_by_pool_.find(pool_uid);
  return it == events_by_pool_.end() ? nullptr : &it->second;
}

std::vector<const State::EventsByTime*> State::EventsUnder(absl::string_view prefix) const {
  const absl::string_view one = ClusterPart(prefix);
  const absl::string_view some = one.empty() ? prefix : one;
  std::vector<const EventsByTime*> clusters;
  for (auto it = events_by_cluster_.lower_bound(some);
       it != events_by_cluster_.end() && absl::StartsWith(it->first, some); ++it)
    clusters.push_back(&it->second);
  return clusters;
}

State::Count State::CountOf(absl::string_view organization) const {
  const auto found = counts_.find(organization);
  return found == counts_.end() ? Count() : found->second;
}

void State::AddToCount(absl::string_view name, int64_t Count::*what, int64_t by) {
  const auto it = counts_.try_emplace(OrganizationOf(name)).first;
  it->second.*what += by;
  if (it->second.pools == 0 && it->second.clusters == 0) counts_.erase(it);
}

void State::Reindex(const Cluster* before, const Cluster* after) {
  if ((before == nullptr) == (after == nullptr)) return;
  const std::string& name = (before == nullptr ? after : before)->name;
  AddToCount(name, &Count::clusters, before == nullptr ? 1 : -1);
}

void State::Reindex(const Pool* before, const Pool* after) {
  if ((before == nullptr) != (after == nullptr)) {
    const std::string& name = (before == nullptr ? after : before)->name;
    AddToCount(name, &Count::pools, before == nullptr ? 1 : -1);
  }
  if (before != nullptr) {
    pool_by_uid_.erase(before->uid);
    EraseFrom(pools_by_quota_, QuotaKeyOf(*before), before->name);
    EraseFrom(pools_short_of_quota_, QuotaKeyOf(*before), before->name);
    if (before->spec.autoscaling)
      EraseFrom(autoscaled_by_quota_, QuotaKeyOf(*before), before->name);
    EraseFrom(pools_short_of_capacity_, CapacityKeyOf(*before), before->name);
  }
  if (after != nullptr) {
    pool_by_uid_[after->uid] = after->name;
    pools_by_quota_[QuotaKeyOf(*after)].insert(after->name);
    if (IsShortOfQuota(*after)) pools_short_of_quota_[QuotaKeyOf(*after)].insert(after->name);
    if (after->spec.autoscaling) autoscaled_by_quota_[QuotaKeyOf(*after)].insert(after->name);
    if (IsMovedByStock(*after)) {
      pools_short_of_capacity_[CapacityKeyOf(*after)].insert(after->name);
    }
  }
  if ((before == nullptr) == (after == nullptr)) return;
  const EventsByTime* events = EventsOf(before == nullptr ? after->uid : before->uid);
  if (events == nullptr) return;
  for (const auto& event : *events) {
    if (after == nullptr) {
      events_of_gone_.insert(event);
    } else {
      events_of_gone_.erase(event);
    }
  }
}

void State::Reindex(const Node* before, const Node* after) {
  const bool stayed = before != nullptr && !IsReturnable(before->state);
  const bool stays = after != nullptr && !IsReturnable(after->state);
  NodesByMachine::node_type entry;
  if (stayed) {
    const auto [begin, end] = staying_.equal_range(before);
    entry = staying_.extract(std::find(begin, end, before));
  }
  if (!stays) return;
  if (entry.empty()) {
    staying_.insert(after);
  } else {
    entry.value() = after;
    staying_.insert(std::move(entry));
  }
}

void State::Reindex(const Event* before, const Event* after) {
  if (before != nullptr) {
    const Seen key(*before);
    EraseFrom(events_by_pool_, before->pool_uid, key);
    EraseFrom(events_by_cluster_, ClusterPart(before->name), key);
    events_of_gone_.erase(key);
  }
  if (after != nullptr) {
    const Seen key(*after);
    events_by_pool_[after->pool_uid.get()].insert(key);
    events_by_cluster_.try_emplace(ClusterPart(after->name)).first->second.insert(key);
    if (FindPoolByUid(after->pool_uid) == nullptr) events_of_gone_.insert(key);
  }
}

void State::Reindex(const KeptRequest* before, const KeptRequest* after) {
  kept_.Reindex(before, after);
}

}  // namespace muster::lifecycle

namespace muster {
template class StateBase<lifecycle::State, lifecycle::Cluster, lifecycle::Pool, lifecycle::Node,
                         lifecycle::Event, lifecycle::Lease, KeptRequest>;
}  // namespace muster
