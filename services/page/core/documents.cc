#include "services/page/core/documents.h"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "services/common/resource_name.h"

namespace muster::page {
namespace {

using nlohmann::json;

constexpr char kQuotaPattern[] = "organizations/*/quotas/*";

// What is not UTF-8 is shown as U+FFFD.
std::string Print(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

json ConditionOf(const lifecycle::v1::Condition& condition) {
  return {{"type", condition.type()},
          {"status", condition.status()},
          {"reason", condition.reason()},
          {"message", condition.message()},
          {"time", Milliseconds(condition.last_transition_time())}};
}

json ConfigurationOf(const lifecycle::v1::NodeConfiguration& configuration) {
  json summary = json::array();
  for (const std::string& line : configuration.summary()) summary.push_back(line);
  return {{"profile", configuration.node_profile()},
          {"time", Milliseconds(configuration.created_at())},
          {"nodes", configuration.active_nodes()},
          {"disabled", configuration.disabled()},
          {"summary", std::move(summary)}};
}

// `RUNNING` of STATE_RUNNING.
std::string ShortName(absl::string_view name) {
  return std::string(absl::StripPrefix(name, "STATE_"));
}

json RolloutOf(const lifecycle::v1::Reconfiguration& order) {
  json machines = json::array();
  for (const std::string& machine : order.machines()) machines.push_back(machine);
  json failed = json::array();
  for (const std::string& machine : order.failed_machines()) failed.push_back(machine);
  return {{"number", order.number()},
          {"state", ShortName(lifecycle::v1::Reconfiguration::State_Name(order.state()))},
          {"machines", std::move(machines)},
          {"failed", std::move(failed)},
          {"allowedFailures", order.allowed_failures()},
          {"maxUnavailable", order.max_unavailable()},
          {"evict", order.evict_active()},
          {"rebooted", order.rebooted_nodes()},
          {"begun", Milliseconds(order.create_time())},
          {"since", Milliseconds(order.state_time())},
          {"halt", order.halt_reason()}};
}

std::string ClassOf(const std::string& compute_class) {
  return compute_class.empty() ? "default" : compute_class;
}

// Whether the part is granted all at once or not at all. The watch does not tell whether the claim
// already holds machines of the same request, in which case the rest is not.
bool IsAtOnce(const capacity::v1::Claim& claim, const capacity::v1::ClaimPart& part) {
  const auto& lost = claim.lost_times();
  return claim.gang() && std::none_of(lost.begin(), lost.end(), [&](const auto& time) {
           return Microseconds(time) == Microseconds(part.request_time());
         });
}

}  // namespace

std::string PoolDocument(const lifecycle::v1::NodePool& pool) {
  const lifecycle::v1::NodePoolStatus& status = pool.status();
  json conditions = json::array();
  for (const auto& condition : status.conditions()) conditions.push_back(ConditionOf(condition));
  json revisions = json::array();
  for (const auto& revision : status.node_configuration_revisions())
    revisions.push_back(ConfigurationOf(revision));
  json document = {{"uid", pool.uid()},
                   {"zone", pool.zone()},
                   {"type", pool.spec().instance_type()},
                   {"class", ClassOf(pool.spec().compute_class())},
                   {"target", pool.spec().target_nodes()},
                   {"granted", pool.account().granted_nodes()},
                   {"queued", status.queued_nodes()},
                   {"progress", status.in_progress()},
                   {"current", status.current_nodes()},
                   {"autoscaling", pool.spec().autoscaling()},
                   {"min", pool.spec().min_nodes()},
                   {"max", pool.spec().max_nodes()},
                   {"gang", pool.spec().gang()},
                   {"priority", pool.spec().priority()},
                   {"description", pool.spec().description()},
                   {"maxUnavailable", pool.spec().lifecycle().max_unavailable()},
                   {"deleting", pool.has_delete_time()},
                   {"created", Milliseconds(pool.create_time())},
                   {"profile", status.node_profile()},
                   {"conditions", std::move(conditions)},
                   {"revisions", std::move(revisions)}};
  if (status.has_pending_node_configuration())
    document["pending"] = ConfigurationOf(status.pending_node_configuration());
  if (status.has_waiting_node_configuration())
    document["waiting"] = ConfigurationOf(status.waiting_node_configuration());
  if (pool.has_reconfiguration()) document["rollout"] = RolloutOf(pool.reconfiguration());
  return Print(document);
}

std::string QuotaDocument(absl::string_view name, const quota::v1::Quota* quota, int64_t held) {
  json document = {{"held", held}, {"set", quota != nullptr}, {"limit", 0}, {"inForce", 0}};
  if (const auto parts = MatchName(kQuotaPattern, name)) {
    const std::vector<std::string> key = absl::StrSplit((*parts)[1], '~');
    document["organization"] = (*parts)[0];
    if (key.size() == 3) {
      document["zone"] = key[0];
      document["type"] = key[1];
      document["class"] = key[2];
    }
  }
  json overrides = json::array();
  if (quota != nullptr) {
    document["limit"] = quota->limit();
    document["inForce"] = quota->limit_in_force();
    for (const auto& other : quota->overrides()) {
      overrides.push_back({{"limit", other.limit()},
                           {"from", Milliseconds(other.effective_time())},
                           {"until", Milliseconds(other.expire_time())},
                           {"reason", other.reason()}});
    }
  }
  document["overrides"] = std::move(overrides);
  return Print(document);
}

std::string ClaimDocument(const capacity::v1::Claim& claim) {
  if (claim.outstanding() == 0) return "";
  json parts = json::array();
  for (const auto& part : claim.parts()) {
    parts.push_back({{"time", Microseconds(part.request_time())},
                     {"nodes", part.nodes()},
                     {"atOnce", IsAtOnce(claim, part)}});
  }
  json places = json::array();
  for (const auto& place : claim.places()) {
    places.push_back({{"time", Microseconds(place.time())},
                      {"nodes", place.nodes()},
                      {"askedBy", place.asked_by()}});
  }
  return Print(
      {{"zone", claim.zone()},
       {"type", claim.instance_type()},
       {"class", claim.compute_class() == type::v1::COMPUTE_CLASS_SPOT ? "spot" : "default"},
       {"pool", claim.pool()},
       {"organization", claim.organization()},
       {"nodes", claim.nodes()},
       {"outstanding", claim.outstanding()},
       {"priority", claim.priority()},
       {"gang", claim.gang()},
       {"since", Milliseconds(claim.queue_time())},
       {"parts", std::move(parts)},
       {"places", std::move(places)}});
}

std::string ProtectionDocument(const lifecycle::v1::Node& node) {
  if (!node.has_protect_until_time()) return "";
  return Print({{"until", Milliseconds(node.protect_until_time())}});
}

std::string ClockDocument(const SpotClock& clock) {
  return Print(
      {{"start", clock.reclaim_time != 0 ? clock.reclaim_time : clock.preempt_time},
       {"for", clock.earmark},
       {"pool", clock.pool_uid},
       {"drain",
        clock.preempt_time != 0 && clock.drain_time > clock.preempt_time ? clock.drain_time : 0},
       {"deadline", clock.drain_deadline}});
}

std::string ProfileDocument(const configuration::v1::NodeProfile& profile) {
  return Print({{"image", profile.image()},
                {"kernel", profile.kernel()},
                {"train", profile.release_train()},
                {"driver", profile.gpu_driver()},
                {"kubernetes", profile.kubernetes()}});
}

std::string TypeDocument(const capacity::v1::InstanceType& type) {
  return Print({{"gpus", type.gpus()},
                {"model", type.gpu_model()},
                {"vcpus", type.vcpus()},
                {"rack", type.nodes_per_rack()},
                {"fabric", type.fabric()}});
}

std::string ZoneDocument(const capacity::v1::Zone& zone) {
  return Print({{"region", zone.region()},
                {"dedicated", zone.access() == capacity::v1::Zone::ACCESS_DEDICATED}});
}

std::string Quoted(absl::string_view text) { return Print(json(std::string(text))); }

}  // namespace muster::page
