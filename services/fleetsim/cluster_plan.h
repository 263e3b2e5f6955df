#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/fleetsim/cluster_objects.h"
#include "services/fleetsim/desired_machine.h"

namespace muster::fleetsim {

// How a kubelet of ours plays its part.
struct KubeletOptions {
  std::string pod_namespace = "default";  // of our Pods; it is there
  int64_t daemon_pods = 0;                // that a DaemonSet would put on each Node
  double speed = 1;                       // grace periods are divided by it
};

// One machine: what is to be, and what is at the API server.
struct MachineFacts {
  const DesiredMachine* desired = nullptr;  // null: not one of ours
  const NodeSeen* node = nullptr;
  std::vector<const PodSeen*> pods = {};  // on it
  absl::Time now = absl::InfinitePast();
};

// One request.
struct ClusterCall {
  enum class Verb { kCreate, kApply, kMerge, kDelete };
  Verb verb = Verb::kCreate;
  std::string path = {};
  Json body = {};
  bool operator==(const ClusterCall&) const = default;
};

struct ClusterPlan {
  std::vector<ClusterCall> calls = {};             // to be made in order, as far as they succeed
  absl::Time look_again = absl::InfiniteFuture();  // although nothing changed
};

// What a machine's kubelet does next. Pure and level-triggered: a plan that was carried out is
// followed by an empty one.
ClusterPlan PlanCluster(const MachineFacts& facts, const KubeletOptions& options);

}  // namespace muster::fleetsim
