#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "services/common/kept_request.h"
#include "services/common/state.h"
#include "services/lifecycle/core/types.h"

namespace muster::lifecycle {

// All that the lifecycle service knows. Nodes of a pool need no index: their names begin with the
// pool's.
class State : public StateBase<State, Cluster, Pool, Node, Event, Lease, KeptRequest> {
 public:
  // Its tables are large in code: all that changes them is compiled once (state.cc).
  State();
  State(const State&);
  State(State&&) noexcept;
  State& operator=(const State&);
  State& operator=(State&&) noexcept;
  ~State();

  // Names of pools, sorted.
  using Names = absl::btree_set<std::string>;
  // An event in the order of when it was seen last, then of its name. The time is kept here, so
  // that comparisons rarely read the row.
  struct Seen {
    explicit Seen(const Event& row) : micros(absl::ToUnixMicros(row.last_time)), event(&row) {}
    absl::Time time() const { return event->last_time; }
    const std::string& name() const { return event->name; }
    friend bool operator==(const Seen& a, const Seen& b) {
      return a.micros == b.micros && a.name() == b.name();
    }
    friend bool operator<(const Seen& a, const Seen& b) {
      return a.micros != b.micros ? a.micros < b.micros : a.name() < b.name();
    }

    int64_t micros = 0;
    const Event* event = nullptr;
  };
  using EventsByTime = absl::btree_set<Seen>;

  // Null when there is none.
  const Pool* FindPoolByUid(absl::string_view uid) const;
  // Calls f for each of the cluster's pools, by name, until it returns false.
  void ForEachPoolOf(absl::string_view cluster_name, absl::FunctionRef<bool(const Pool&)> f) const;
  // Calls f for each of the pool's Nodes, by name.
  void ForEachNodeOf(absl::string_view pool_name,
                     absl::FunctionRef<void(const Versioned<Node>&)> f) const;
  // The pool's Nodes by name.
  std::vector<const Node*> NodesOf(absl::string_view pool_name) const;
  // The revision of the last change of the pool's row or one of its Nodes'; 0 when there is no such
  // pool. A Node never leaves without a change of the pool's row, so it only grows.
  int64_t VersionOf(absl::string_view pool_name) const;
  // Pools charged on the quota key; null when none is.
  const Names* PoolsOnQuota(absl::string_view organization, absl::string_view zone,
                            absl::string_view instance_type, absl::string_view compute_class) const;
  // Those of PoolsOnQuota to which more room matters: their Quota condition is not Under, or they
  // are granted less than they want.
  const Names* PoolsShortOfQuota(absl::string_view organization, absl::string_view zone,
                                 absl::string_view instance_type,
                                 absl::string_view compute_class) const;
  // Those of PoolsOnQuota that are autoscaled: their status tells how many Nodes the others leave
  // them.
  const Names* AutoscaledOnQuota(absl::string_view organization, absl::string_view zone,
                                 absl::string_view instance_type,
                                 absl::string_view compute_class) const;
  // Pools of this type in this zone to which changes of the machines in service there matter: those
  // whose Capacity condition is not Sufficient, and those with a node affinity and a target of 0.
  // (A pool that has all it asks for is woken by changes of its own machines: PeerWatches.) Null
  // when there is none.
  const Names* PoolsShortOfCapacity(absl::string_view zone, absl::string_view instance_type) const;
  // Those of `machines` that are Nodes of another pool and not on their way back from it.
  std::vector<std::string> TakenElsewhere(absl::string_view pool_uid,
                                          const std::vector<std::string>& machines) const;
  // Null when there is none.
  const EventsByTime* EventsOf(absl::string_view pool_uid) const;
  // For each cluster that may have events whose names begin with the prefix: all events of the
  // cluster.
  std::vector<const EventsByTime*> EventsUnder(absl::string_view prefix) const;
  // Events of pools that are gone.
  const EventsByTime& EventsOfGone() const { return events_of_gone_; }
  const KeptByTime& kept() const { return kept_; }
  // What an organization has.
  struct Count {
    int64_t pools = 0;
    int64_t clusters = 0;
  };
  Count CountOf(absl::string_view organization) const;
  // How many organizations have anything.
  size_t organizations() const { return counts_.size(); }

  void Reindex(const Pool* before, const Pool* after);
  void Reindex(const Event* before, const Event* after);
  void Reindex(const Cluster* before, const Cluster* after);
  void Reindex(const Node* before, const Node* after);
  void Reindex(const Lease*, const Lease*) {}
  void Reindex(const KeptRequest* before, const KeptRequest* after);

 private:
  // Hash and equality of Nodes by their machine, of which there may be several Nodes for a while.
  struct Machine {
    using is_transparent = void;
    static absl::string_view Of(absl::string_view machine) { return machine; }
    static absl::string_view Of(const Node* node) { return node->machine; }
    template <class T>
    size_t operator()(const T& of) const {
      return absl::Hash<absl::string_view>()(Of(of));
    }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return Of(a) == Of(b);
    }
  };
  using NodesByMachine = std::unordered_multiset<const Node*, Machine, Machine>;
  // Counts one more or less for the organization of a cluster or pool.
  void AddToCount(absl::string_view name, int64_t Count::*what, int64_t by);

  absl::flat_hash_map<std::string, std::string> pool_by_uid_;
  absl::flat_hash_map<std::string, Names> pools_by_quota_;
  absl::flat_hash_map<std::string, Names> pools_short_of_quota_;
  absl::flat_hash_map<std::string, Names> autoscaled_by_quota_;
  absl::flat_hash_map<std::string, Names> pools_short_of_capacity_;
  NodesByMachine staying_;  // Nodes whose machine is not on its way back
  absl::flat_hash_map<std::string, EventsByTime> events_by_pool_;
  absl::btree_map<std::string, EventsByTime> events_by_cluster_;  // by its name and a `/`
  EventsByTime events_of_gone_;
  absl::flat_hash_map<std::string, Count> counts_;  // by organization, of those that have anything
  KeptByTime kept_;
};

}  // namespace muster::lifecycle

namespace muster {
extern template class StateBase<lifecycle::State, lifecycle::Cluster, lifecycle::Pool,
                                lifecycle::Node, lifecycle::Event, lifecycle::Lease, KeptRequest>;
}  // namespace muster
