#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/container/node_hash_map.h"
#include "absl/time/time.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"
#include "services/kubernetes/brake.h"
#include "services/kubernetes/cluster_view.h"
#include "services/kubernetes/controller.h"
#include "services/kubernetes/core/orders.h"
#include "services/kubernetes/core/status.h"
#include "services/kubernetes/event_mirror.h"
#include "services/kubernetes/history.h"
#include "services/kubernetes/identity.h"
#include "services/kubernetes/metadata_refusals.h"
#include "services/kubernetes/muster_client.h"
#include "services/kubernetes/muster_view.h"
#include "services/kubernetes/reporter.h"
#include "services/kubernetes/writer.h"

namespace muster::kubernetes {

// Between the end of a write of a status and the next one is at least this: what comes meanwhile
// goes with the second. The first waits for nothing.
inline constexpr absl::Duration kStatusInterval = absl::Milliseconds(200);

// Brings a NodePool's two sides level, by its name: the object's spec, deletion and orders to
// Muster; Muster's status to the object. Thread-safe for different names.
class PoolReconciler {
 public:
  // All that it points to outlives the reconciler, and none is null.
  struct Parts {
    Client* api = nullptr;
    Writer* writer = nullptr;
    ClusterView* cluster = nullptr;
    MusterClient* muster = nullptr;
    MusterView* muster_view = nullptr;
    Reporter* reporter = nullptr;
    EventMirror* events = nullptr;
    Metrics* metrics = nullptr;
    History* history = nullptr;
    Brake* brake = nullptr;
    Identity* identity = nullptr;
    MetadataRefusals* refusals = nullptr;
    Edition edition = Edition::kCurrent;
    bool ready_condition = false;
    // When what is beyond a limit, or of a cluster that Muster does not have, is tried again.
    absl::Duration refusal_retry = absl::Seconds(15);
    const SteadyClock* steady = TheSteadyClock();
  };
  explicit PoolReconciler(const Parts& parts) : parts_(parts) {}

  Outcome Reconcile(const std::string& name);

 private:
  using Object = std::shared_ptr<const NodePoolObject>;
  using Pool = std::shared_ptr<const lifecycle::v1::NodePool>;

  // What was done for an object so far, as far as this process did it. One worker uses it at a time
  // (Controller).
  struct Memory {
    std::string uid = {};
    std::optional<std::string> incarnation = {};  // of the history that it was done in
    int64_t object_generation = 0;                // applied or refused
    int64_t muster_generation = 0;                // that came of it
    std::optional<Refusal> refusal = {};
    // When the spec was sent last, by the steady clock.
    absl::Duration spec_sent_time = -absl::InfiniteDuration();
    absl::Duration status_time = -absl::InfiniteDuration();  // when the last write ended, likewise
    bool noted = false;  // the annotation kGrantable was found or made to say this
    std::optional<std::string> grantable = {};
    // What the annotations order, and the request id of it as long as they order it and this
    // process lives: whoever ordered something else since the first try is not overruled by the
    // next.
    std::optional<std::string> promote = {};
    std::optional<std::string> rollback = {};
    std::string order_id = {};
    // The word itself (`pending`, `previous`) was sent under that id: it is sent again as it is, so
    // that the repeated request gets the same answer.
    bool by_word = false;
  };

  // Whether another order may stand on the object after a step of one.
  enum class OrdersLeft { kNone, kMaybe };

  // There is no object: a pool that came from one goes too.
  Outcome ReconcileMissing(const std::string& name, const Pool& pool);
  Outcome ReconcileDeleting(const NodePoolObject& object, const MusterView::PoolView& view,
                            Memory& memory);
  // Its status, then its orders. `view.pool`: of the object's uid, or null.
  Outcome UpdateObject(const NodePoolObject& object, const MusterView::PoolView& view,
                       Memory& memory);
  // Its pool was deleted by Muster's own API, which Muster told: the object goes with it, since no
  // pool of its uid comes back. That Muster only does not show the pool is no such word.
  Outcome FollowDeletion(const NodePoolObject& object, const MusterView::PoolView& view,
                         Memory& memory);
  // Removes the pool of the object's name, which came from an object that is gone.
  absl::Status RemoveFormer(const NodePoolObject& object, const lifecycle::v1::NodePool& pool,
                            Memory& memory);

  // Shows why a deleted object is kept for now. `kept`: what becomes of it meanwhile.
  Outcome ShowKept(Outcome kept, const NodePoolObject& object, std::string why, Memory& memory);
  // Remembers whether Muster forbids to delete the pool. `ordered`: what it said to the order, OK
  // where none was needed.
  void NoteUndeleted(const NodePoolObject& object, const absl::Status& ordered, Memory& memory);

  absl::Status AddFinalizer(const NodePoolObject& object, Memory& memory);
  absl::Status RemoveFinalizer(const NodePoolObject& object, Memory& memory);
  // One step.
  absl::StatusOr<OrdersLeft> CarryOutOrder(const NodePoolObject& object, const Pool& pool,
                                           Memory& memory);
  absl::StatusOr<OrdersLeft> TakeStep(const NodePoolObject& object, const OrderStep& step,
                                      Memory& memory);
  // Refuses orders of which nothing can come as Muster has not taken the spec; others wait.
  absl::StatusOr<OrdersLeft> RefuseOrders(const NodePoolObject& object, Memory& memory);
  // Removes what asks for the step, and tells why nothing comes of it.
  absl::Status RefuseOrder(const NodePoolObject& object, const OrderStep& step,
                           absl::string_view why, Memory& memory);
  absl::Status PatchAnnotation(const NodePoolObject& object, const Json& patch, Memory& memory);
  // How long until the spec is sent again.
  absl::Duration RetryOf(const Refusal& refusal) const;
  // Sends the spec to Muster unless that was done before. What Muster refuses is remembered, and
  // sent again now and then.
  absl::Status SyncSpec(const NodePoolObject& object, const Pool& pool, Memory& memory);
  // Whether the API server has that very generation of it now.
  bool IsStillSo(const NodePoolObject& object) const;
  absl::StatusOr<lifecycle::v1::NodePool> SendSpec(const NodePoolObject& object,
                                                   const lifecycle::v1::NodePoolSpec& spec);
  // What an answer that is not OK has against the object; nullopt: nothing that is to be shown, it
  // is asked again.
  std::optional<Refusal> RefusalOf(const NodePoolObject& object, const absl::Status& status) const;
  // Remembers what is refused of the object, or that nothing is; tells of what is new.
  void NoteRefusal(const NodePoolObject& object, std::optional<Refusal> refusal, Memory& memory);
  // Which Nodes the cluster autoscaler has marked by now, before its lower target is told.
  absl::Status ReportMarks(const NodePoolObject& object);
  // `view.pool`: of the object's uid, or null.
  Outcome ShowStatus(const NodePoolObject& object, const MusterView::PoolView& view,
                     Memory& memory);
  // Likewise where something else failed: that is what the outcome says.
  Outcome ShowThough(const absl::Status& failed, const NodePoolObject& object,
                     const MusterView::PoolView& view, Memory& memory);
  // Shows that Muster has nothing left of it.
  Outcome ShowGone(const NodePoolObject& object, Memory& memory);
  // Keeps the annotation kGrantable level with what Muster says. Who changes it is not fought: it
  // is written when what it is to say changes.
  absl::Status NoteGrantable(const NodePoolObject& object, const lifecycle::v1::NodePool& pool,
                             Memory& memory);
  // What the status is made from, but for the Nodes.
  StatusFacts FactsOf(const NodePoolObject& object, const Pool& pool, const Memory& memory) const;
  // Writes the status unless the object says so already; where another was written just before,
  // later.
  Outcome UpdateStatus(const StatusFacts& facts, Memory& memory);
  // How long until the status may be written again; not above zero: it may.
  absl::Duration UntilNextStatus(const Memory& memory) const;
  absl::Status PutStatus(const NodePoolObject& object, const Json& status);
  // What the first edition and Ready say of the pool's Nodes.
  void CountNodes(const std::string& pool_uid, StatusFacts& facts) const;

  // Whether a finalizer was not written because somebody does not want that: rights, a policy, or a
  // webhook, which may also fail (as the API server says; other 500s are its own, and pass).
  static bool IsForbidden(const absl::Status& status);
  static std::string PathOf(const NodePoolObject& object);

  // Of the object of that name. It stays where it is until that is gone (ReconcileMissing).
  Memory& MemoryOf(const std::string& name);
  // Forgets what was done for another object of its name, in another history, or for other orders.
  void ForgetOutdated(const NodePoolObject& object, Memory& memory) const;
  // Another order, also of the same text if it was gone meanwhile, gets another request id.
  static void NoteOrders(const NodePoolObject& object, Memory& memory);

  const Parts parts_;
  Mutex mutex_;
  // A node map: MemoryOf's references outlast other names' changes.
  absl::node_hash_map<std::string, Memory> memories_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::kubernetes
