#include "services/kubernetes/node_reconciler.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "services/common/log.h"
#include "services/common/status_macros.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/node_metadata.h"
#include "services/kubernetes/withheld.h"

namespace muster::kubernetes {
namespace {

using lifecycle::v1::Node;
using lifecycle::v1::NodeReport;

// As kubectl drain has it.
constexpr absl::Duration kEvictionRetry = absl::Seconds(5);
constexpr char kNodeKind[] = "node";
// Until it is asked again whether Muster shows the cluster.
constexpr absl::Duration kClusterIsMissing = absl::Seconds(15);
// Pods that a report names as blocked.
constexpr size_t kMostBlocked = 3;

std::string PathOf(const NodeObject& object) { return absl::StrCat(kNodesPath, "/", object.name); }

std::string PathOf(const PodObject& pod) {
  return absl::StrCat(kNamespacesPath, "/", pod.name_space, "/pods/", pod.name);
}

std::string PoolOf(const std::string& node_name) {
  const std::vector<std::string> parts = absl::StrSplit(node_name, '/');
  return parts.size() == 8 ? parts[5] : "";
}

// What the server says of the budget that stands in the way, or of several, which it does not
// support; empty: something else does.
std::string BudgetOf(const absl::Status& status) {
  const ApiError error = ErrorOf(status);
  if (error.code == 500 && absl::StrContains(status.message(), "PodDisruptionBudget"))
    return std::string(status.message());
  for (const auto& [cause, message] : error.causes) {
    if (cause == "DisruptionBudget") return message;
  }
  return "";
}

// Whether a refusal says anything of the Pod: not so where the API server is away, busy or too
// slow, or lost a race.
bool IsAboutThePod(const absl::Status& refused) {
  return !absl::IsUnavailable(refused) && !absl::IsAborted(refused) &&
         !absl::IsResourceExhausted(refused) && !absl::IsDeadlineExceeded(refused) &&
         !absl::IsUnauthenticated(refused) && !absl::IsCancelled(refused);
}

// What is said of the Pods that budgets hold, by name; empty: none is held.
std::string BlockedBy(const std::vector<PodObject>& pods, const EvictionRetries& retries) {
  std::vector<std::string> blocked;
  for (const PodObject& pod : pods) {
    const auto found = retries.find(pod.uid);
    if (found == retries.end() || found->second.budget.empty()) continue;
    blocked.push_back(absl::StrCat(pod.key(), ": ", found->second.budget));
  }
  std::sort(blocked.begin(), blocked.end());
  if (blocked.size() > kMostBlocked) blocked.resize(kMostBlocked);
  return absl::StrJoin(blocked, "; ");
}

// Forgets what is known of Pods that are gone.
void Forget(const std::vector<PodObject>& pods, absl::flat_hash_set<std::string>& asked,
            EvictionRetries& retries) {
  absl::flat_hash_set<std::string> there;
  for (const PodObject& pod : pods) there.insert(pod.uid);
  absl::erase_if(asked, [&](const std::string& uid) { return !there.contains(uid); });
  absl::erase_if(retries, [&](const auto& each) { return !there.contains(each.first); });
}

}  // namespace

NodeReconciler::Memory& NodeReconciler::MemoryOf(const std::string& machine) {
  MutexLock lock(mutex_);
  return memories_[machine];
}

void NodeReconciler::ForgetMachine(const std::string& machine) {
  parts_.reporter->Forget(machine);
  MutexLock lock(mutex_);
  memories_.erase(machine);
}

Outcome NodeReconciler::Reconcile(const std::string& machine) {
  const auto here = parts_.history->current();
  // A snapshot is under way: whose history it is decides what it proves.
  if (!here) return Later(kWatchIsLate);
  const auto object = parts_.cluster->NodeOf(machine);
  const auto node = parts_.muster_view->NodeOf(machine);
  if (node == nullptr) return ReconcileUnknown(machine, object.get(), nullptr);
  NodeFacts facts{.node = node.get(), .object = object.get(), .now = absl::Now()};
  if (object != nullptr) {
    if (const auto done = CheckLife(here, machine, facts)) return *done;
  }
  Memory& memory = MemoryOf(machine);
  Former former = FindFormer(machine, facts, memory.former);
  memory.former = std::move(former.names);
  Outcome outcome = ReconcileLife(machine, facts, memory);
  // They go even if something stands in the way of the machine's present life.
  for (const auto& each : former.nodes) {
    const absl::Status gone = Delete(*each);
    if (outcome.status.ok()) outcome.status = gone;
  }
  outcome.again = std::min(outcome.again, former.again);
  return outcome;
}

Outcome NodeReconciler::ReconcileLife(const std::string& machine, NodeFacts& facts,
                                      Memory& memory) {
  const Node* node = facts.node;
  const NodeObject* object = facts.object;
  const absl::Duration steady = parts_.steady->Now();
  facts.pods = parts_.cluster->PodsOf(machine, memory.former);
  memory.drain.Look(*node, facts.now, steady);
  Outcome outcome;
  // Cordoned first, or new work comes while the old is asked to leave.
  if (object != nullptr && object->unschedulable && CompareLives(*node, *object) == 0)
    outcome.again = Drain(*node, facts.pods, steady, memory);
  facts.blocked_by = BlockedBy(facts.pods, memory.retries);
  // Some were not asked yet: that nothing holds them any more is not known.
  if (outcome.again == absl::ZeroDuration() && facts.blocked_by.empty())
    facts.blocked_by = node->observed().drain_blocked_by();
  facts.since_work_report = steady - memory.work_report_time;
  facts.metadata_refused = parts_.refusals->Has(machine);
  NodePlan plan = PlanNode(facts);
  if (plan.keep) parts_.history->CountKept(kNodeKind);
  outcome.again = std::min(outcome.again, plan.look_again);
  const bool tells_work =
      std::any_of(plan.reports.begin(), plan.reports.end(), [](const NodeReport& report) {
        return report.observation() == NodeReport::OBSERVATION_ACTIVE;
      });
  if (tells_work) memory.work_report_time = steady;
  const MetadataState metadata = MetadataStateOf(*node, object);
  if (std::exchange(memory.metadata, metadata) != metadata)
    parts_.metadata_turned(PoolOf(node->name()));
  // A v1 Node that is gone is written to no more.
  if (object == nullptr || metadata != MetadataState::kPending)
    Turned(parts_.refusals->Forget(machine));
  if (facts.pods.empty() && !node->observed().active())
    memory.work_report_time = -absl::InfiniteDuration();
  // What fails here, e.g. a label that is refused, does not put off Pods that are to be asked
  // again.
  outcome.status = CarryOut(machine, facts, memory.former, std::move(plan));
  return outcome;
}

absl::Status NodeReconciler::CarryOut(const std::string& machine, const NodeFacts& facts,
                                      const std::set<std::string>& former, NodePlan plan) {
  const absl::Status confirmed = Confirm(facts, former, plan);
  if (!confirmed.ok()) TakeBackUnconfirmed(facts.object, plan);
  // Also if there are none: what an earlier look saw holds no more.
  parts_.reporter->Report(machine, std::move(plan.reports), plan.tells_work_later);
  RETURN_IF_ERROR(confirmed);
  if (facts.object == nullptr || !plan.writes()) return absl::OkStatus();
  return Write(*facts.node, *facts.object, plan);
}

History::Verdict NodeReconciler::Judge(const NodeObject& object) const {
  // What Muster has told of is no absence; what is on its way need not be removed.
  return object.deleting || IsToldToGo(object) || parts_.muster_view->SawEndOf(object)
             ? parts_.history->Judge(object.uid)
             : parts_.brake->Judge(object.uid);
}

std::optional<Outcome> NodeReconciler::CheckLife(const std::optional<std::string>& here,
                                                 const std::string& machine, NodeFacts& facts) {
  const NodeObject& object = *facts.object;
  const int age = CompareLives(*facts.node, object);
  if (age == 0) {
    parts_.history->See(here, object.uid);
    return std::nullopt;
  }
  // One that is taken over does not go: that is no removal to be held.
  switch (IsTakenOver(*facts.node, object) ? parts_.history->Judge(object.uid) : Judge(object)) {
    case History::Verdict::kWait:
      return Later(kWatchIsLate);
    case History::Verdict::kKeep:
      facts.doubted = true;
      return std::nullopt;
    case History::Verdict::kObey:
      break;
  }
  // What is known may be out of date.
  if (age > 0) return ReconcileUnknown(machine, &object, facts.node);
  return std::nullopt;
}

NodeReconciler::Former NodeReconciler::FindFormer(const std::string& machine,
                                                  const NodeFacts& facts,
                                                  std::set<std::string> names) const {
  Former former{.names = std::move(names)};
  for (const auto& object : parts_.cluster->NodesOf(machine)) {
    former.names.erase(object->name);  // one that is there is judged anew
    if (facts.object == nullptr || object->name == facts.object->name) continue;
    if (CompareLives(*facts.node, *object) >= 0 || IsTakenOver(*facts.node, *object)) continue;
    if (const auto held = Withheld(Judge(*object), *parts_.history, kNodeKind)) {
      former.again = std::min(former.again, held->again);
      continue;
    }
    former.names.insert(object->name);
    if (!object->deleting) former.nodes.push_back(object);
  }
  return former;
}

Outcome NodeReconciler::ReconcileUnknown(const std::string& machine, const NodeObject* object,
                                         const Node* node) {
  ForgetMachine(machine);
  Turned(parts_.refusals->Forget(machine));
  if (object == nullptr || object->deleting) return {};
  if (OrphanName(*object, machine).empty()) return {};
  // It is found by its provider id and by its name: it may be some other machine's.
  const std::set<std::string> ids = {ProviderMachine(*object), object->name};
  for (const std::string& id : ids) {
    if (!id.empty() && id != machine && parts_.muster_view->NodeOf(id) != nullptr) return {};
  }
  if (const auto held = Withheld(Judge(*object), *parts_.history, kNodeKind)) return *held;
  // Before Muster is asked for the Node: of a cluster that it does not show it shows none. What it
  // told the end of has ended.
  if (!IsToldToGo(*object) && !parts_.muster_view->SawEndOf(*object)) {
    if (const auto held =
            WithheldWithoutCluster(*parts_.identity, *parts_.history, kNodeKind, kClusterIsMissing))
      return *held;
  }
  for (const std::string& id : ids) {
    if (id.empty()) continue;
    const auto found = parts_.muster->GetNode(
        absl::StrCat(parts_.muster->cluster(), "/", OrphanName(*object, id)));
    // If Muster still has just the Node that is known, the later life that the v1 Node is marked
    // with never was.
    const bool stands = found.ok() && node != nullptr && LifeMark(*found) == LifeMark(*node);
    if (found.ok() && !stands) return Later(kWatchIsLate);
    // A provider id is somebody else's word: one that can be no machine's id is none's.
    const bool is_none = absl::IsNotFound(found.status()) ||
                         (id != object->name && absl::IsInvalidArgument(found.status()));
    if (!found.ok() && !is_none) return found.status();
  }
  return Delete(*object);
}

absl::Status NodeReconciler::Patch(PatchType type, const std::string& path, const Json& patch,
                                   absl::string_view part) {
  Parameters parameters{{"fieldManager", kFieldManager}};
  if (type == PatchType::kApply) parameters.emplace_back("force", "true");
  ASSIGN_OR_RETURN(const Json written, parts_.writer->Patch(type, path, patch, parameters, part));
  parts_.cluster->nodes().Put(written);
  return absl::OkStatus();
}

absl::Status NodeReconciler::WriteMetadata(const NodeObject& object, const NodePlan& plan) {
  // The taints first: they keep work away from a Node that is not ready for it. They hold the
  // resourceVersion, so that what others wrote meanwhile is not lost.
  if (plan.taints) RETURN_IF_ERROR(Patch(PatchType::kMerge, PathOf(object), *plan.taints));
  if (plan.apply) RETURN_IF_ERROR(Patch(PatchType::kApply, PathOf(object), *plan.apply));
  return absl::OkStatus();
}

void NodeReconciler::Turned(const MetadataRefusals::Turned& pools) {
  for (const std::string& pool : pools) parts_.refusals_turned(pool);
}

absl::Status NodeReconciler::Write(const Node& node, const NodeObject& object,
                                   const NodePlan& plan) {
  if (plan.remove) return Delete(object);
  if (plan.cordon) {
    const absl::Status cordoned = Patch(PatchType::kApply, PathOf(object), *plan.cordon, "cordon");
    // The rest is for the next look: the resourceVersion that the taints hold has moved.
    if (cordoned.ok()) return cordoned;
  }
  absl::Status written = WriteMetadata(object, plan);
  Turned(parts_.refusals->Note({PoolOf(node.name()), node.pool_uid()}, node.machine(), written));
  // Whatever is refused of the metadata; a server that gives no answer is not waited for twice.
  if (plan.apply_status && !absl::IsDeadlineExceeded(written)) {
    const absl::Status shown =
        Patch(PatchType::kApply, absl::StrCat(PathOf(object), "/status"), *plan.apply_status);
    // The v1 Node shows it now: it is not planned again.
    if (shown.ok() && plan.turned) parts_.work_turned(object.name, *plan.turned);
    written.Update(shown);
  }
  return written;
}

absl::Status NodeReconciler::Delete(const NodeObject& object) {
  const absl::Status status = parts_.writer->Delete(PathOf(object), object.uid);
  if (status.ok()) log::Info("the Node object was deleted", {{"node", object.name}});
  if (status.ok() || absl::IsNotFound(status)) return absl::OkStatus();
  if (IsForbiddenOrInvalid(status))
    parts_.deletion_refused(object.name, std::string(status.message()));
  return status;
}

absl::Status NodeReconciler::Evict(const PodEviction& eviction) {
  const Json body = EvictionBody(eviction);
  const std::string path = PathOf(*eviction.pod);
  if (eviction.mode == EvictionMode::kEvict)
    return parts_.api->Create(absl::StrCat(path, "/eviction"), body).status();
  return parts_.api->Delete(path, body);
}

void NodeReconciler::TellUnasked(const PodObject& pod, const absl::Status& status) {
  const auto others = unasked_.Tell(parts_.steady->Now());
  if (!others) return;
  log::Warn("a Pod could not be asked to leave",
            {{"pod", pod.key()}, {"error", status}, {"others_not_told", *others}});
}

absl::Duration NodeReconciler::Ask(const PodEviction& eviction, Memory& memory) {
  const std::string& uid = eviction.pod->uid;
  const absl::Status status = Evict(eviction);
  // Its answer may have taken long.
  const absl::Duration answered = parts_.steady->Now();
  // A conflict is no answer: it may be another one of that name, which the watch will tell, or a
  // race that the server lost.
  if (status.ok() || absl::IsNotFound(status)) {
    memory.asked.insert(uid);
    memory.retries.erase(uid);
    if (eviction.mode != EvictionMode::kForce) return absl::InfiniteDuration();
    // Who is forced out is asked until he is gone.
    memory.retries[uid] = {eviction.mode, answered + kEvictionRetry};
    return answered + kEvictionRetry;
  }
  std::string budget = BudgetOf(status);
  if (budget.empty() && IsAboutThePod(status)) TellUnasked(*eviction.pod, status);
  EvictionRetry& retry = memory.retries[uid];
  // What held it holds until the Pod is answered otherwise.
  if (budget.empty() && retry.mode == eviction.mode && !IsAboutThePod(status))
    budget = std::move(retry.budget);
  const absl::Duration pause = std::max(kEvictionRetry, ErrorOf(status).retry_after);
  retry = {eviction.mode, answered + pause, std::move(budget)};
  return retry.time;
}

absl::Duration NodeReconciler::Drain(const lifecycle::v1::Node& node,
                                     const std::vector<PodObject>& pods, absl::Duration steady,
                                     Memory& memory) {
  Forget(pods, memory.asked, memory.retries);
  const DrainTurn turn = PlanTurn(PlanDrain(node, pods, memory.asked, memory.drain.Since(steady)),
                                  memory.retries, steady);
  absl::Duration next = turn.next;
  absl::Duration taken = absl::ZeroDuration();
  for (const PodEviction& eviction : turn.due) {
    if (IsTurnOver(taken)) {
      next = steady;
      break;
    }
    next = std::min(next, Ask(eviction, memory));
    taken = parts_.steady->Now() - steady;
  }
  if (!node.desired().drain()) memory.retries.clear();
  return std::max(absl::ZeroDuration(), next - steady - taken);
}

}  // namespace muster::kubernetes
