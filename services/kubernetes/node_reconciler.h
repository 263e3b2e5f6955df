#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/container/node_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"
#include "services/kubernetes/brake.h"
#include "services/kubernetes/cluster_view.h"
#include "services/kubernetes/controller.h"
#include "services/kubernetes/core/drain.h"
#include "services/kubernetes/core/node_plan.h"
#include "services/kubernetes/history.h"
#include "services/kubernetes/identity.h"
#include "services/kubernetes/metadata_refusals.h"
#include "services/kubernetes/muster_client.h"
#include "services/kubernetes/muster_view.h"
#include "services/kubernetes/node_lists.h"
#include "services/kubernetes/repeated_failure.h"
#include "services/kubernetes/reporter.h"
#include "services/kubernetes/writer.h"

namespace muster::kubernetes {

// Brings a machine's two sides level, by its id: writes to the v1 Node what Muster wants, asks its
// Pods to leave, and reports to Muster what is seen. Thread-safe for different machines.
class NodeReconciler {
 public:
  // All that it points to outlives the reconciler, and none is null.
  struct Parts {
    Client* api = nullptr;
    Writer* writer = nullptr;
    ClusterView* cluster = nullptr;
    MusterClient* muster = nullptr;
    MusterView* muster_view = nullptr;
    Reporter* reporter = nullptr;
    History* history = nullptr;
    Brake* brake = nullptr;
    Identity* identity = nullptr;
    MetadataRefusals* refusals = nullptr;
    // Called when it has changed whether the metadata of a Node of that pool is synced.
    std::function<void(const std::string& pool)> metadata_turned = {};
    // Called when it has changed what the API server refuses of that pool's Nodes.
    std::function<void(const std::string& pool)> refusals_turned = {};
    // Called when the API server refuses to delete that v1 Node, each time; with what it says.
    std::function<void(const std::string& node, const std::string& message)> deletion_refused = {};
    // Called when it has changed what a v1 Node shows of whether it has work.
    std::function<void(const std::string& node, const std::string& message)> work_turned = {};
    const SteadyClock* steady = TheSteadyClock();
  };
  explicit NodeReconciler(Parts parts)
      : parts_(std::move(parts)),
        lists_([this](const std::string& pool_uid) { return ListNodes(pool_uid); }, parts_.steady) {
  }

  Outcome Reconcile(const std::string& machine);

 private:
  // What was done on a machine so far, as far as this process did it. By Pods' uids. One worker
  // uses it at a time (Controller).
  struct Memory {
    absl::flat_hash_set<std::string> asked = {};
    EvictionRetries retries = {};
    absl::Duration work_report_time = -absl::InfiniteDuration();  // of a steady clock
    MetadataState metadata = MetadataState::kNone;
    DrainTimer drain = {};
    // V1 Nodes of an earlier life that were let go: their Pods are no work.
    std::set<std::string> former = {};
  };
  // v1 Nodes that an earlier life of the machine left beside the one that counts, and that may go.
  struct Former {
    std::vector<std::shared_ptr<const NodeObject>> nodes = {};
    std::set<std::string> names = {};
    // When to look again, as it is not known yet whether another may go; infinite: no need.
    absl::Duration again = absl::InfiniteDuration();
  };

  // `node`: of another life than the object, or null.
  Outcome ReconcileUnknown(const std::string& machine, const NodeObject* object,
                           const lifecycle::v1::Node* node);
  // Whether a v1 Node that Muster's Node is not about may go.
  History::Verdict Judge(const NodeObject& object) const;
  // Checks whether the v1 Node is of the life of Muster's Node. An outcome: nothing more is to be
  // done now. nullopt: go on; facts.doubted is set if it is of another life but has to be kept.
  // `here`: the history that both were looked up in.
  std::optional<Outcome> CheckLife(const std::optional<std::string>& here,
                                   const std::string& machine, NodeFacts& facts);
  // Leaves out those that are to be kept: they count like the machine's other v1 Nodes. `names`: of
  // those that were let go before.
  Former FindFormer(const std::string& machine, const NodeFacts& facts,
                    std::set<std::string> names) const;
  // `memory.former`: names of v1 Nodes whose Pods are none of this life's work.
  Outcome ReconcileLife(const std::string& machine, NodeFacts& facts, Memory& memory);
  // Reports, and writes to the v1 Node.
  absl::Status CarryOut(const std::string& machine, const NodeFacts& facts,
                        const std::set<std::string>& former, NodePlan plan);
  // Looks up anew what is reported of a Node that is absent or drained: what was last seen may be
  // out of date, and a machine is switched off because of it. ABORTED: it is not so. Whether the
  // Node is there under a name that nobody knows is asked once for many: that answer may be as old
  // as NodeLists::kStands.
  absl::Status Confirm(const NodeFacts& facts, const std::set<std::string>& former,
                       const NodePlan& plan);
  // `name`: of its v1 Node that was there last.
  absl::Status ConfirmAbsent(const lifecycle::v1::Node& node, const std::string& name);
  // Lists the pool's v1 Nodes, and puts them into the cluster's view.
  absl::StatusOr<NodeLists::Machines> ListNodes(const std::string& pool_uid);
  absl::Status ConfirmNoWork(const NodeFacts& facts, const std::set<std::string>& former);
  // After a refusal the cordon alone, where that is due; the rest is left to the next look.
  absl::Status Write(const lifecycle::v1::Node& node, const NodeObject& object,
                     const NodePlan& plan);
  absl::Status WriteMetadata(const NodeObject& object, const NodePlan& plan);
  absl::Status Patch(PatchType type, const std::string& path, const Json& patch,
                     absl::string_view part = "");
  absl::Status Delete(const NodeObject& object);
  void Turned(const MetadataRefusals::Turned& pools);
  // Asks Pods to leave that were not asked yet, for one turn. Returns after what time it is to be
  // called again; 0: as soon as others had their turn. `steady`: of the steady clock.
  absl::Duration Drain(const lifecycle::v1::Node& node, const std::vector<PodObject>& pods,
                       absl::Duration steady, Memory& memory);
  // Returns when it is to be asked again, of the steady clock; infinite: never.
  absl::Duration Ask(const PodEviction& eviction, Memory& memory);
  absl::Status Evict(const PodEviction& eviction);
  void TellUnasked(const PodObject& pod, const absl::Status& status);

  // It stays where it is until the machine is forgotten.
  Memory& MemoryOf(const std::string& machine);
  void ForgetMachine(const std::string& machine);

  const Parts parts_;
  NodeLists lists_;
  RepeatedFailure unasked_;  // Pods that could not be asked to leave
  Mutex mutex_;
  // A node map: MemoryOf's references outlast other machines' changes.
  absl::node_hash_map<std::string, Memory> memories_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::kubernetes
