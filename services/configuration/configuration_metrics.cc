#include "services/configuration/configuration_metrics.h"

#include <string>
#include <utility>

#include "services/configuration/core/names.h"
#include "services/rpc/metric_family.h"

namespace muster::configuration {
namespace {

using prometheus::MetricFamily;

MetricFamily Releases(const Census& census) {
  MetricFamily family =
      rpc::Gauges("muster_configuration_releases", "Releases in force, by channel and component.");
  for (const auto& [key, n] : census.releases) {
    rpc::AddSample(
        family,
        {{"channel", std::string(Print(key.first))}, {"component", std::string(Print(key.second))}},
        n);
  }
  return family;
}

}  // namespace

std::vector<MetricFamily> FamiliesOf(const Census& census) {
  return {
      rpc::Gauge("muster_configuration_pools", "Pools that have a configuration.", census.pools),
      rpc::Gauge("muster_configuration_problem_pools",
                 "Pools whose spec resolves to nothing that is released.", census.with_problem),
      rpc::Gauge("muster_configuration_pending_pools",
                 "Pools with a configuration that waits to be promoted by order.",
                 census.with_pending),
      rpc::Gauge("muster_configuration_waiting_pools",
                 "Pools with a configuration that becomes active once Nodes that boot have booted.",
                 census.with_waiting),
      rpc::Gauge("muster_configuration_disabled_pools",
                 "Pools whose active configuration is disabled: its boots failed too often.",
                 census.active_disabled),
      rpc::Gauge("muster_configuration_disabled_revisions",
                 "Configurations that are disabled, active or not, over all pools.",
                 census.disabled_revisions),
      Releases(census),
  };
}

std::vector<MetricFamily> ConfigurationMetrics::Collect() const {
  Census census;
  if (!lane_.Read([&](const Lane& lane) { census = CensusOf(lane); })) return {};
  return FamiliesOf(census);
}

}  // namespace muster::configuration
