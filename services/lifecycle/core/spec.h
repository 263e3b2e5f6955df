#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

// What an owner asks of a NodePool. Plain values, words as manifests write them.
namespace muster::lifecycle {

using StringMap = std::map<std::string, std::string>;

struct Taint {
  std::string key = {};
  std::string value = {};
  std::string effect = {};
  bool operator==(const Taint&) const = default;
  template <class H>
  friend H AbslHashValue(H hash, const Taint& taint) {
    return H::combine(std::move(hash), taint.key, taint.value, taint.effect);
  }
};

struct Image {
  std::string kernel = {};
  std::string name = {};
  std::string release_train = {};
  bool operator==(const Image&) const = default;
};

struct Gpu {
  std::string version = {};
  bool operator==(const Gpu&) const = default;
};

// A condition on a label of a machine. `op`: In, NotIn, Exists, DoesNotExist.
struct AffinityExpression {
  std::string key = {};
  std::string op = {};
  std::vector<std::string> values = {};
  bool operator==(const AffinityExpression&) const = default;
};
// Terms, one of which must hold: expressions that must all hold. No term: every machine.
using Affinity = std::vector<std::vector<AffinityExpression>>;

// Which Nodes leave when the target falls. A caller's word that is no strategy becomes kUnknown,
// which ValidateSpec refuses: no row has it.
enum class ScaleDownStrategy { kIdleOnly, kPreferIdle, kUnknown };
// As manifests write it.
constexpr absl::string_view TextOf(ScaleDownStrategy strategy) {
  switch (strategy) {
    case ScaleDownStrategy::kIdleOnly:
      return "IdleOnly";
    case ScaleDownStrategy::kPreferIdle:
      return "PreferIdle";
    case ScaleDownStrategy::kUnknown:
      break;
  }
  return "";
}
constexpr ScaleDownStrategy ScaleDownStrategyOf(absl::string_view text) {
  for (const auto strategy : {ScaleDownStrategy::kIdleOnly, ScaleDownStrategy::kPreferIdle})
    if (TextOf(strategy) == text) return strategy;
  return ScaleDownStrategy::kUnknown;
}

// Replacing Nodes before they leave.
struct Prefill {
  bool enabled = false;
  int64_t timeout_seconds = 0;  // 0: kPrefillTimeout
  int64_t max_nodes = 0;        // 0: 1
  bool operator==(const Prefill&) const = default;
};

struct Spec {
  std::string compute_class = {};  // empty: default
  std::string instance_type = {};
  int64_t target_nodes = 0;
  int64_t min_nodes = 0;
  int64_t max_nodes = 0;
  StringMap node_labels = {};
  StringMap node_annotations = {};
  std::vector<Taint> node_taints = {};
  std::optional<Image> image = {};
  std::optional<Gpu> gpu = {};
  bool autoscaling = false;
  ScaleDownStrategy scale_down_strategy = ScaleDownStrategy::kIdleOnly;
  bool disable_unhealthy_node_eviction = true;
  std::string update_strategy = {};  // empty: OnSpecUpdate
  std::string max_unavailable = {};  // `2`, `25%`; empty: see budget.h
  Affinity node_affinity = {};
  int32_t priority = 0;
  bool gang = false;
  std::optional<Prefill> prefill = {};
  std::string description = {};

  bool spot() const { return compute_class == "spot"; }
  bool operator==(const Spec&) const = default;
};

}  // namespace muster::lifecycle
