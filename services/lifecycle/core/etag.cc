#include "services/lifecycle/core/etag.h"

#include <cstdint>

#include "services/common/content_hash.h"

namespace muster::lifecycle {
namespace {

void AddPlacement(ContentHash& hash, const Spec& spec) {
  hash.Add(static_cast<int64_t>(spec.node_affinity.size()));
  for (const auto& term : spec.node_affinity) {
    hash.Add(static_cast<int64_t>(term.size()));
    for (const AffinityExpression& expression : term) {
      hash.Add(expression.key).Add(expression.op);
      hash.Add(static_cast<int64_t>(expression.values.size()));
      for (const std::string& value : expression.values) hash.Add(value);
    }
  }
  hash.Add(spec.priority).Add(static_cast<int64_t>(spec.gang));
  hash.Add(static_cast<int64_t>(spec.prefill.has_value()));
  if (spec.prefill)
    hash.Add(static_cast<int64_t>(spec.prefill->enabled))
        .Add(spec.prefill->timeout_seconds)
        .Add(spec.prefill->max_nodes);
}

void AddBoot(ContentHash& hash, const Spec& spec) {
  hash.Add(static_cast<int64_t>(spec.image.has_value()));
  if (spec.image) hash.Add(spec.image->kernel).Add(spec.image->name).Add(spec.image->release_train);
  hash.Add(static_cast<int64_t>(spec.gpu.has_value()));
  if (spec.gpu) hash.Add(spec.gpu->version);
  hash.Add(spec.update_strategy);
}

}  // namespace

std::string EtagOf(const Pool& pool) {
  const Spec& spec = pool.spec;
  ContentHash hash;
  hash.Add(pool.uid).Add(static_cast<int64_t>(pool.deleting()));
  hash.Add(spec.compute_class).Add(spec.instance_type);
  hash.Add(spec.target_nodes).Add(spec.min_nodes).Add(spec.max_nodes);
  hash.Add(spec.node_labels).Add(spec.node_annotations);
  hash.Add(static_cast<int64_t>(spec.node_taints.size()));
  for (const Taint& taint : spec.node_taints)
    hash.Add(taint.key).Add(taint.value).Add(taint.effect);
  AddBoot(hash, spec);
  hash.Add(static_cast<int64_t>(spec.autoscaling));
  hash.Add(TextOf(spec.scale_down_strategy));
  hash.Add(static_cast<int64_t>(spec.disable_unhealthy_node_eviction));
  hash.Add(spec.max_unavailable);
  AddPlacement(hash, spec);
  hash.Add(spec.description);
  return hash.Text();
}

// An ordered reboot is not part of it, because it ends by itself.
std::string EtagOf(const Node& node) {
  ContentHash hash;
  hash.Add(node.pool_uid).Add(node.create_time);
  hash.Add(node.protect_until_time).Add(node.reserved_desired);
  const NodeOrders& orders = node.orders;
  if (orders.cordon_time != kNever)
    hash.Add(orders.cordon_time).Add(orders.drain_time).Add(orders.drain_forced ? 1 : 0);
  return hash.Text();
}

std::string EtagOf(const Cluster& cluster) {
  ContentHash hash;
  hash.Add(cluster.name).Add(cluster.zone).Add(cluster.kubernetes_version);
  hash.Add(cluster.create_time).Add(cluster.kubernetes_uid);
  const Cluster::Allowance& allowance = cluster.allowance;
  hash.Add(allowance.node_pools).Add(allowance.nodes);
  hash.Add(allowance.create_time).Add(allowance.expire_time);
  return hash.Text();
}

}  // namespace muster::lifecycle
