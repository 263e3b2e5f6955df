#include "services/quota/quota_metrics.h"

#include <map>
#include <string>
#include <utility>

#include "services/rpc/metric_family.h"

namespace muster::quota {
namespace {

using prometheus::MetricFamily;

std::vector<MetricFamily> ByKey(const Census& census) {
  MetricFamily limit = rpc::Gauges(
      "muster_quota_limit_nodes",
      "Nodes that organizations may hold by the limits in force, summed over organizations.");
  MetricFamily held = rpc::Gauges("muster_quota_held_nodes",
                                  "Nodes that pools are charged for, summed over organizations.");
  MetricFamily over = rpc::Gauges(
      "muster_quota_over_limit_nodes",
      "Nodes held beyond the limit of their organization, because it was lowered or is not set.");
  MetricFamily full =
      rpc::Gauges("muster_quota_full_quotas", "Quotas under which not one Node more can be held.");
  MetricFamily overruns = rpc::Gauges(
      "muster_quota_overruns",
      "Quotas under which more Nodes are held than may be by the limit in force, because it was "
      "lowered or an override lapsed.");
  struct InZone {
    int64_t over = 0;
    int64_t overruns = 0;
  };
  std::map<std::string, InZone> zones;
  for (const auto& [key, count] : census.keys) {
    const rpc::Labels labels = {{"zone", key.zone},
                                {"instance_type", key.instance_type},
                                {"compute_class", std::string(ToString(key.compute_class))}};
    rpc::AddSample(limit, labels, count.limit);
    rpc::AddSample(held, labels, count.held);
    rpc::AddSample(full, labels, count.full);
    zones[key.zone].over += count.over;
    zones[key.zone].overruns += count.overruns;
  }
  for (const auto& [zone, count] : zones) {
    rpc::AddSample(over, {{"zone", zone}}, count.over);
    rpc::AddSample(overruns, {{"zone", zone}}, count.overruns);
  }
  return {std::move(limit), std::move(held), std::move(over), std::move(full), std::move(overruns)};
}

std::vector<MetricFamily> ByOrganization(const Census& census, size_t most) {
  if (most == 0) return {};
  MetricFamily limit = rpc::Gauges(
      "muster_quota_organization_limit_nodes",
      "Nodes that an organization may hold in all zones, types and classes. Named are the "
      "--metrics_organizations that hold most; all others are summed as `other`.");
  MetricFamily held =
      rpc::Gauges("muster_quota_organization_held_nodes",
                  "Nodes that an organization's pools are charged for. Named are the "
                  "--metrics_organizations that hold most; all others are summed as `other`.");
  for (const OrganizationCount& count : Largest(census, most)) {
    rpc::AddSample(limit, {{"organization", count.organization}}, count.limit);
    rpc::AddSample(held, {{"organization", count.organization}}, count.held);
  }
  return {std::move(limit), std::move(held)};
}

}  // namespace

std::vector<MetricFamily> FamiliesOf(const Census& census, size_t organizations) {
  std::vector<MetricFamily> families = ByKey(census);
  for (MetricFamily& family : ByOrganization(census, organizations))
    families.push_back(std::move(family));
  return families;
}

std::vector<MetricFamily> QuotaMetrics::Collect() const {
  Census census;
  const auto count = [&](const Lane& lane) { census = CensusOf(lane, lane.clock().Now()); };
  if (!lane_.Read(count)) return {};
  return FamiliesOf(census, organizations_);
}

}  // namespace muster::quota
