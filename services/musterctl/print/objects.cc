#include "services/musterctl/print/objects.h"

#include <google/protobuf/util/time_util.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "services/common/resource_name.h"
#include "services/common/timestamp.h"
#include "services/musterctl/print/object_parts.h"
#include "services/musterctl/print/words.h"

namespace muster::musterctl {
namespace {

using google::protobuf::util::TimeUtil;

json Overrides(const google::protobuf::RepeatedPtrField<quota::v1::LimitOverride>& overrides) {
  json list = json::array();
  for (const auto& given : overrides) {
    json item = {{"effectiveTime", FormatExactTime(given.effective_time())},
                 {"expireTime", FormatExactTime(given.expire_time())},
                 {"limit", given.limit()}};
    PutText(item, "reason", given.reason());
    list.push_back(std::move(item));
  }
  return list;
}

json Object(const quota::v1::Holding& holding, const std::string& id) {
  json object = Frame("Holding", id);
  if (const auto parts = MatchName("organizations/*/quotas/*/holdings/*", holding.name())) {
    object["metadata"]["organization"] = parts->front();
  }
  object["spec"] = {
      {"generation", holding.generation()}, {"nodes", holding.nodes()}, {"pool", holding.pool()}};
  PutTime(object["status"], "updateTime", holding.update_time());
  return object;
}

json Object(const quota::v1::Quota& quota, const std::string& id) {
  json object = Frame("Quota", id);
  if (const auto parts = MatchName("organizations/*/quotas/*", quota.name())) {
    object["metadata"]["organization"] = parts->front();
  }
  object["metadata"]["resourceVersion"] = quota.etag();
  PutTime(object["metadata"], "creationTimestamp", quota.create_time());
  json& spec = object["spec"];
  spec["limit"] = quota.limit();
  const std::vector<std::string> key = absl::StrSplit(id, '~');
  if (key.size() == 3) {
    spec["zone"] = key[0];
    spec["instanceType"] = key[1];
    spec["computeClass"] = key[2];
  }
  if (quota.overrides_size() > 0) spec["overrides"] = Overrides(quota.overrides());
  object["status"]["held"] = quota.held();
  object["status"]["limitInForce"] = quota.limit_in_force();
  PutTime(object["status"], "updateTime", quota.update_time());
  return object;
}

json Object(const capacity::v1::Zone& zone, const std::string& id) {
  json object = Frame("Zone", id);
  object["spec"]["access"] =
      zone.access() == capacity::v1::Zone::ACCESS_DEDICATED ? "dedicated" : "general";
  object["spec"]["instanceTypes"] = Strings(zone.instance_types());
  object["status"]["region"] = zone.region();
  return object;
}

json Object(const capacity::v1::InstanceType& type, const std::string& id) {
  json object = Frame("InstanceType", id);
  object["spec"] = {{"architecture", type.architecture()},
                    {"ephemeralStorageKib", type.ephemeral_storage_kib()},
                    {"fabric", type.fabric()},
                    {"gpuModel", type.gpu_model()},
                    {"gpus", type.gpus()},
                    {"maxPods", type.max_pods()},
                    {"memoryKib", type.memory_kib()},
                    {"nodesPerRack", type.nodes_per_rack()},
                    {"superchip", type.superchip()},
                    {"vcpus", type.vcpus()}};
  return object;
}

json Object(const capacity::v1::Machine& machine, const std::string& id) {
  json object = Frame("Machine", id);
  object["spec"] = {{"instanceType", machine.instance_type()},
                    {"slot", machine.slot()},
                    {"zone", machine.zone()}};
  PutText(object["spec"], "fabric", machine.fabric());
  PutText(object["spec"], "rack", machine.rack());
  if (machine.labels_size() > 0) object["spec"]["labels"] = ToJson(machine.labels());
  object["status"]["state"] = MachineStateWord(machine.state());
  PutText(object["status"], "claim", machine.claim());
  if (!machine.claim().empty())
    object["status"]["computeClass"] = ComputeClassWord(machine.compute_class());
  PutText(object["status"], "earmark", machine.earmark());
  PutTime(object["status"], "reclaimTime", machine.reclaim_time());
  PutTime(object["status"], "requestTime", machine.request_time());
  PutTime(object["status"], "stateTime", machine.state_time());
  return object;
}

json AffinityTerms(const capacity::v1::Affinity& affinity) {
  json terms = json::array();
  for (const capacity::v1::AffinityTerm& term : affinity.terms()) {
    json& expressions = terms.emplace_back(json::array());
    for (const capacity::v1::AffinityExpression& expression : term.expressions()) {
      const auto& op = capacity::v1::AffinityExpression::Operator_Name(expression.operator_());
      json& added = expressions.emplace_back(
          json{{"key", expression.key()}, {"operator", Word(op, "OPERATOR_")}});
      if (expression.values_size() > 0) added["values"] = Strings(expression.values());
    }
  }
  return terms;
}

// Its times as `10800s`.
json Queue(const capacity::v1::QueuePlace& queue) {
  json object = {{"nodesAhead", queue.nodes_ahead()}, {"place", queue.place()}};
  if (queue.has_wait()) {
    object["wait"] = {{"earliest", TimeUtil::ToString(queue.wait().earliest())},
                      {"latest", TimeUtil::ToString(queue.wait().latest())}};
  }
  return object;
}

json Parts(const google::protobuf::RepeatedPtrField<capacity::v1::ClaimPart>& parts) {
  json list = json::array();
  for (const auto& part : parts) {
    json& added = list.emplace_back(json{{"nodes", part.nodes()}});
    PutTime(added, "requestTime", part.request_time());
  }
  return list;
}

json Reclaims(const google::protobuf::RepeatedPtrField<capacity::v1::MachineReclaim>& reclaims) {
  json list = json::array();
  for (const auto& reclaim : reclaims) {
    json& added = list.emplace_back(json{{"machine", reclaim.machine()}});
    PutTime(added, "reclaimTime", reclaim.reclaim_time());
  }
  return list;
}

json Object(const capacity::v1::Claim& claim, const std::string& id) {
  json object = Frame("Claim", id);
  object["spec"] = {{"computeClass", ComputeClassWord(claim.compute_class())},
                    {"generation", claim.generation()},
                    {"gang", claim.gang()},
                    {"instanceType", claim.instance_type()},
                    {"nodes", claim.nodes()},
                    {"pool", claim.pool()},
                    {"priority", claim.priority()},
                    {"zone", claim.zone()}};
  object["status"] = {{"outstanding", claim.outstanding()}};
  if (TellsMachines(claim)) {
    object["status"].update(json{{"inService", claim.in_service()},
                                 {"machines", Strings(claim.machines())},
                                 {"matching", claim.matching()},
                                 {"matchingInRepair", claim.matching_in_repair()},
                                 {"reason", ClaimReasonWord(claim.reason())}});
  }
  PutTime(object["status"], "queueTime", claim.queue_time());
  if (claim.parts_size() > 0) object["status"]["parts"] = Parts(claim.parts());
  if (claim.has_queue()) object["status"]["queue"] = Queue(claim.queue());
  if (claim.reclaims_size() > 0) object["status"]["reclaims"] = Reclaims(claim.reclaims());
  if (claim.has_affinity()) object["spec"]["affinity"] = AffinityTerms(claim.affinity());
  return object;
}

json Object(const configuration::v1::Release& release, const std::string& id) {
  json object = Frame("Release", id);
  PutTime(object["metadata"], "creationTimestamp", release.create_time());
  if (const auto parts = MatchName("channels/*/components/*/releases/*", release.name())) {
    object["spec"] = {
        {"channel", (*parts)[0]}, {"component", (*parts)[1]}, {"version", (*parts)[2]}};
  }
  if (release.has_withdraw_time())
    PutTime(object["status"], "withdrawTime", release.withdraw_time());
  return object;
}

json Object(const configuration::v1::Revision& revision, bool in_history) {
  json object = {{"nodeProfile", revision.node_profile()},
                 {"summary", Strings(revision.summary())}};
  PutTime(object, "createdAt", revision.create_time());
  if (!in_history) return object;
  object["disabled"] = revision.disabled();
  object["enableCount"] = revision.enable_count();
  return object;
}

json Object(const configuration::v1::ConfigurationOrder& order) {
  using Order = configuration::v1::ConfigurationOrder;
  json object = {{"number", order.number()},
                 {"kind", Word(Order::Kind_Name(order.kind()), "KIND_")},
                 {"requested", order.requested()},
                 {"outcome", Word(Order::Outcome_Name(order.outcome()), "OUTCOME_")},
                 {"message", order.message()}};
  PutText(object, "nodeProfile", order.node_profile());
  PutTime(object, "createdAt", order.create_time());
  return object;
}

json Object(const configuration::v1::ConfigurationSpec& spec) {
  json object = {{"gpu", spec.gpu()}, {"strategy", StrategyWord(spec.strategy())}};
  PutText(object, "gpuVersion", spec.gpu_version());
  PutText(object, "imageKernel", spec.image_kernel());
  PutText(object, "imageName", spec.image_name());
  PutText(object, "kubernetes", spec.kubernetes());
  PutText(object, "releaseTrain", spec.release_train());
  return object;
}

json Object(const configuration::v1::PoolConfiguration& pool, const std::string& id) {
  json object = Frame("PoolConfiguration", id);
  object["metadata"]["generation"] = pool.generation();
  if (pool.has_spec()) object["spec"] = Object(pool.spec());
  if (!pool.pool().empty()) object["spec"]["pool"] = pool.pool();
  json& status = object["status"] = {{"active", pool.active()},
                                     {"midDelivery", pool.mid_delivery()},
                                     {"pinned", Strings(pool.pinned())},
                                     {"revisions", json::array()},
                                     {"orders", json::array()}};
  PutText(status, "problem", pool.problem());
  if (pool.has_pending()) status["pending"] = Object(pool.pending(), false);
  if (pool.has_waiting()) status["waiting"] = Object(pool.waiting(), false);
  for (const auto& revision : pool.revisions())
    status["revisions"].push_back(Object(revision, true));
  for (const auto& order : pool.orders()) status["orders"].push_back(Object(order));
  return object;
}

json Object(const configuration::v1::NodeProfile& profile, const std::string& id) {
  json object = Frame("NodeProfile", id);
  json& spec = object["spec"] = {{"image", profile.image()},
                                 {"kubernetes", profile.kubernetes()},
                                 {"releaseTrain", profile.release_train()}};
  PutText(spec, "kernel", profile.kernel());
  PutText(spec, "gpuDriver", profile.gpu_driver());
  return object;
}

}  // namespace

json ToObject(const Item& item) {
  const std::string id = IdOf(item);
  json object = std::visit([&](const auto& resource) { return Object(resource, id); }, item);
  if (!item.cell.empty()) object["metadata"]["cell"] = item.cell;
  return object;
}

}  // namespace muster::musterctl
