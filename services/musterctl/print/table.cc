#include "services/musterctl/print/table.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "services/common/condition_names.h"
#include "services/common/event_reasons.h"
#include "services/common/resource_name.h"
#include "services/musterctl/print/printable.h"
#include "services/musterctl/print/words.h"

namespace muster::musterctl {
namespace {

// What may happen at the same time, in the order in which it is told.
constexpr EventReason kStory[] = {EventReason::kNodePoolCreated,
                                  EventReason::kNodeConfigStaged,
                                  EventReason::kNodeRequestQueued,
                                  EventReason::kNodeAssigned,
                                  EventReason::kNodeRegistered,
                                  EventReason::kNodePoolScaledUp,
                                  EventReason::kNodePoolRemoveNodes,
                                  EventReason::kNodeDeletionRequestSuccess,
                                  EventReason::kNodeMarkedPrepareForTerminate,
                                  EventReason::kNodeCordoned,
                                  EventReason::kNodeTainted,
                                  EventReason::kDrainNode,
                                  EventReason::kNodeDraining,
                                  EventReason::kNodePreparedForTerminate,
                                  EventReason::kNodeDeleted,
                                  EventReason::kNodePoolNodesRemoved,
                                  EventReason::kNodePoolScaledDown,
                                  EventReason::kNodePoolDeleted};

using Cells = std::vector<std::string>;

std::string OrNone(std::string text) { return text.empty() ? "<none>" : text; }
std::string YesNo(bool value) { return value ? "true" : "false"; }
std::string Gibibytes(int64_t kib) { return absl::StrCat(kib >> 20, "Gi"); }

void Append(Cells& cells, bool wide, std::initializer_list<std::string> more) {
  if (wide) cells.insert(cells.end(), more);
}

std::string Reason(const lifecycle::v1::NodePool& pool, absl::string_view type) {
  const lifecycle::v1::Condition* condition = FindCondition(pool, type);
  return condition == nullptr ? "" : condition->reason();
}

Cells Of(const lifecycle::v1::NodePool& pool, const std::string& id, bool wide, absl::Time now) {
  const auto& status = pool.status();
  Cells cells = {id,
                 pool.spec().instance_type(),
                 absl::StrCat(pool.spec().target_nodes()),
                 absl::StrCat(status.queued_nodes()),
                 absl::StrCat(status.in_progress()),
                 absl::StrCat(status.current_nodes()),
                 Reason(pool, condition::kValidated),
                 Reason(pool, condition::kCapacity),
                 Reason(pool, condition::kQuota),
                 Age(pool.create_time(), now)};
  Append(cells, wide,
         {Reason(pool, condition::kAtTarget), Reason(pool, condition::kNodeReconfigurationRequired),
          pool.spec().compute_class().empty() ? "default" : pool.spec().compute_class(),
          OrNone(status.node_profile()), absl::StrCat(pool.generation()), pool.uid()});
  return cells;
}

Cells Of(const lifecycle::v1::Node& node, const std::string& id, bool wide, absl::Time now) {
  const auto parts = MatchName("organizations/*/clusters/*/nodePools/*/nodes/*", node.name());
  Cells cells = {id,
                 parts ? (*parts)[2] : "",
                 NodeStateWord(node.state()),
                 OrNone(node.observed().node_profile()),
                 YesNo(node.observed().active()),
                 YesNo(node.desired().cordoned()),
                 Age(node.create_time(), now)};
  Append(cells, wide,
         {PhaseWord(node.desired().phase()), OrNone(node.desired().node_profile()),
          Age(node.state_time(), now), OrNone(node.rack()),
          OrNone(RemovalCauseWord(node.removal_cause())),
          OrNone(absl::StrJoin(node.observed().active_pods(), ","))});
  return cells;
}

Cells Of(const lifecycle::v1::Event& event, const std::string& id, bool wide, absl::Time now) {
  Cells cells = {Age(event.last_time(), now), event.type(), event.reason(),
                 ShortObject(event.object())};
  Append(cells, wide, {absl::StrCat(event.count()), Age(event.first_time(), now), id});
  cells.push_back(event.message());
  return cells;
}

Cells Of(const lifecycle::v1::Cluster& cluster, const std::string& id, bool wide, absl::Time now) {
  Cells cells = {id, cluster.zone(),
                 cluster.kubernetes_version().empty() ? "newest" : cluster.kubernetes_version(),
                 Age(cluster.create_time(), now)};
  Append(cells, wide, {cluster.kubernetes_uid(), cluster.name()});
  return cells;
}

Cells Of(const quota::v1::Holding& holding, const std::string& id, bool wide, absl::Time now) {
  Cells cells = {id, IdOfName(Kind::kNodePool, holding.pool()), absl::StrCat(holding.nodes()),
                 Age(holding.update_time(), now)};
  Append(cells, wide, {absl::StrCat(holding.generation()), holding.name()});
  return cells;
}

Cells Of(const quota::v1::Quota& quota, const std::string& id, bool wide, absl::Time now) {
  Cells parts = absl::StrSplit(id, '~');
  parts.resize(3);
  Cells cells = {id,
                 parts[0],
                 parts[1],
                 parts[2],
                 absl::StrCat(quota.limit()),
                 absl::StrCat(quota.limit_in_force()),
                 absl::StrCat(quota.held()),
                 Age(quota.create_time(), now)};
  Append(cells, wide,
         {absl::StrCat(std::max<int64_t>(0, quota.limit_in_force() - quota.held())),
          absl::StrCat(quota.overrides_size()), quota.name()});
  return cells;
}

Cells Of(const capacity::v1::Zone& zone, const std::string& id, bool wide, absl::Time) {
  Cells cells = {id,
                 zone.access() == capacity::v1::Zone::ACCESS_DEDICATED ? "dedicated" : "general",
                 zone.region(), absl::StrCat(zone.instance_types_size())};
  Append(cells, wide, {OrNone(absl::StrJoin(zone.instance_types(), ","))});
  return cells;
}

Cells Of(const capacity::v1::InstanceType& type, const std::string& id, bool wide, absl::Time) {
  Cells cells = {id,
                 absl::StrCat(type.gpus()),
                 OrNone(type.gpu_model()),
                 absl::StrCat(type.vcpus()),
                 Gibibytes(type.memory_kib()),
                 type.architecture(),
                 absl::StrCat(type.max_pods())};
  Append(cells, wide,
         {Gibibytes(type.ephemeral_storage_kib()), YesNo(type.superchip()),
          absl::StrCat(type.nodes_per_rack()), YesNo(type.fabric())});
  return cells;
}

Cells Of(const capacity::v1::Machine& machine, const std::string& id, bool wide, absl::Time now) {
  Cells cells = {id, machine.zone(), machine.instance_type(), MachineStateWord(machine.state()),
                 OrNone(machine.claim())};
  Append(cells, wide,
         {OrNone(machine.fabric()), OrNone(machine.rack()), absl::StrCat(machine.slot()),
          Age(machine.state_time(), now)});
  return cells;
}

Cells Of(const capacity::v1::Claim& claim, const std::string& id, bool wide, absl::Time now) {
  const auto told = [&](std::string cell) {
    return TellsMachines(claim) ? std::move(cell) : "<unknown>";
  };
  Cells cells = {id,
                 IdOfName(Kind::kNodePool, claim.pool()),
                 claim.instance_type(),
                 ComputeClassWord(claim.compute_class()),
                 absl::StrCat(claim.nodes()),
                 told(absl::StrCat(claim.machines_size())),
                 absl::StrCat(claim.outstanding()),
                 told(ClaimReasonWord(claim.reason()))};
  Append(cells, wide,
         {claim.zone(), absl::StrCat(claim.generation()), told(absl::StrCat(claim.in_service())),
          claim.has_queue_time() ? Age(claim.queue_time(), now) : "<none>",
          told(OrNone(absl::StrJoin(claim.machines(), ",")))});
  return cells;
}

Cells Of(const configuration::v1::Release& release, const std::string& id, bool wide,
         absl::Time now) {
  Cells parts = absl::StrSplit(id, '~');
  parts.resize(3);
  Cells cells = {parts[0], parts[1], parts[2], Age(release.create_time(), now)};
  Append(cells, wide,
         {release.has_withdraw_time() ? Age(release.withdraw_time(), now) : "", release.name()});
  return cells;
}

Cells Of(const configuration::v1::PoolConfiguration& pool, const std::string& id, bool wide,
         absl::Time) {
  Cells cells = {id, pool.active(), pool.pending().node_profile(), pool.waiting().node_profile(),
                 pool.problem()};
  const auto disabled = std::count_if(pool.revisions().begin(), pool.revisions().end(),
                                      [](const auto& revision) { return revision.disabled(); });
  Append(cells, wide,
         {absl::StrCat(pool.generation()), absl::StrCat(pool.revisions_size()),
          absl::StrCat(disabled), absl::StrJoin(pool.pinned(), ",")});
  return cells;
}

Cells Of(const configuration::v1::NodeProfile& profile, const std::string& id, bool wide,
         absl::Time) {
  Cells cells = {id, profile.image(), profile.kernel(), profile.gpu_driver(), profile.kubernetes()};
  Append(cells, wide, {profile.release_train()});
  return cells;
}

Cells BaseHeaders(Kind kind) {
  switch (kind) {
    case Kind::kNodePool:
      return {"NAME",    "INSTANCE TYPE", "TARGET",   "QUEUED", "INPROGRESS",
              "CURRENT", "VALIDATED",     "CAPACITY", "QUOTA",  "AGE"};
    case Kind::kNode:
      return {"NAME", "NODEPOOL", "STATE", "PROFILE", "ACTIVE", "CORDONED", "AGE"};
    case Kind::kEvent:
      return {"LAST SEEN", "TYPE", "REASON", "OBJECT"};
    case Kind::kCluster:
      return {"NAME", "ZONE", "KUBERNETES", "AGE"};
    case Kind::kHolding:
      return {"NAME", "NODEPOOL", "NODES", "SINCE"};
    case Kind::kQuota:
      return {"NAME", "ZONE", "INSTANCE TYPE", "CLASS", "LIMIT", "IN FORCE", "HELD", "AGE"};
    case Kind::kZone:
      return {"NAME", "ACCESS", "REGION", "TYPES"};
    case Kind::kInstanceType:
      return {"NAME", "GPUS", "MODEL", "VCPUS", "MEMORY", "ARCH", "MAXPODS"};
    case Kind::kMachine:
      return {"NAME", "ZONE", "INSTANCE TYPE", "STATE", "CLAIM"};
    case Kind::kClaim:
      return {"NAME",   "NODEPOOL", "INSTANCE TYPE", "CLASS",
              "WANTED", "HELD",     "OUTSTANDING",   "REASON"};
    case Kind::kRelease:
      return {"CHANNEL", "COMPONENT", "VERSION", "AGE"};
    case Kind::kConfiguration:
      return {"NODEPOOL UID", "ACTIVE", "PENDING", "WAITING", "PROBLEM"};
    case Kind::kNodeProfile:
      return {"NAME", "IMAGE", "KERNEL", "GPU DRIVER", "KUBERNETES"};
  }
  return {};
}

Cells WideHeaders(Kind kind) {
  switch (kind) {
    case Kind::kNodePool:
      return {"ATTARGET", "RECONFIGURATION", "CLASS", "PROFILE", "GENERATION", "UID"};
    case Kind::kNode:
      return {"DESIRED", "DESIRED PROFILE", "IN STATE", "RACK", "LEAVES FOR", "PODS"};
    case Kind::kEvent:
      return {"COUNT", "FIRST SEEN", "NAME"};
    case Kind::kCluster:
      return {"KUBERNETES UID", "RESOURCE"};
    case Kind::kRelease:
      return {"WITHDRAWN", "RESOURCE"};
    case Kind::kConfiguration:
      return {"GENERATION", "REVISIONS", "DISABLED", "PINNED"};
    case Kind::kNodeProfile:
      return {"TRAIN"};
    case Kind::kHolding:
      return {"GENERATION", "RESOURCE"};
    case Kind::kQuota:
      return {"REMAINING", "OVERRIDES", "RESOURCE"};
    case Kind::kZone:
      return {"INSTANCE TYPES"};
    case Kind::kInstanceType:
      return {"EPHEMERAL", "SUPERCHIP", "RACK", "FABRIC"};
    case Kind::kMachine:
      return {"FABRIC", "RACK", "SLOT", "IN STATE"};
    case Kind::kClaim:
      return {"ZONE", "GENERATION", "IN SERVICE", "QUEUED", "MACHINES"};
  }
  return {};
}

}  // namespace

std::vector<std::string> Headers(Kind kind, bool wide) {
  Cells headers = BaseHeaders(kind);
  if (wide) {
    const Cells more = WideHeaders(kind);
    headers.insert(headers.end(), more.begin(), more.end());
  }
  // Messages are long: they come last.
  if (kind == Kind::kEvent) headers.push_back("MESSAGE");
  return headers;
}

std::vector<std::string> Row(const Item& item, bool wide, absl::Time now) {
  const std::string id = IdOf(item);
  return std::visit([&](const auto& resource) { return Of(resource, id, wide, now); }, item);
}

std::string HumanDuration(absl::Duration duration) {
  const int64_t seconds = absl::ToInt64Seconds(duration);
  if (seconds < -1) return "<invalid>";
  if (seconds < 120) return absl::StrCat(std::max<int64_t>(seconds, 0), "s");
  const auto two = [](int64_t big, absl::string_view unit, int64_t small,
                      absl::string_view small_unit) {
    return small == 0 ? absl::StrCat(big, unit) : absl::StrCat(big, unit, small, small_unit);
  };
  const int64_t minutes = seconds / 60;
  if (minutes < 10) return two(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return absl::StrCat(minutes, "m");
  const int64_t hours = minutes / 60;
  if (hours < 8) return two(hours, "h", minutes % 60, "m");
  if (hours < 48) return absl::StrCat(hours, "h");
  const int64_t days = hours / 24;
  if (days < 8) return two(days, "d", hours % 24, "h");
  if (days < 730) return absl::StrCat(days, "d");
  if (days < 365 * 8) return two(days / 365, "y", days % 365, "d");
  return absl::StrCat(days / 365, "y");
}

std::string Age(const google::protobuf::Timestamp& since, absl::Time now) {
  if (since.seconds() == 0 && since.nanos() == 0) return "<unknown>";
  return HumanDuration(now - absl::FromUnixSeconds(since.seconds()));
}

bool Earlier(const lifecycle::v1::Event& a, const lifecycle::v1::Event& b) {
  const auto key = [](const lifecycle::v1::Event& event) {
    const auto* place = std::find_if(std::begin(kStory), std::end(kStory), [&](EventReason reason) {
      return TextOf(reason) == event.reason();
    });
    return std::make_tuple(event.last_time().seconds(), event.last_time().nanos(),
                           event.first_time().seconds(), event.first_time().nanos(),
                           place - kStory);
  };
  return key(a) < key(b);
}

std::string ShortObject(const std::string& name) {
  if (const auto parts = MatchName("organizations/*/clusters/*/nodePools/*/nodes/*", name)) {
    return absl::StrCat("node/", parts->back());
  }
  if (const auto parts = MatchName("organizations/*/clusters/*/nodePools/*", name)) {
    return absl::StrCat("nodepool/", parts->back());
  }
  return name;
}

const lifecycle::v1::Condition* FindCondition(const lifecycle::v1::NodePool& pool,
                                              absl::string_view type) {
  for (const auto& condition : pool.status().conditions()) {
    if (condition.type() == type) return &condition;
  }
  return nullptr;
}

}  // namespace muster::musterctl
