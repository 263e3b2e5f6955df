#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/fleetsim/cluster_objects.h"
#include "services/fleetsim/desired_machine.h"

namespace muster::fleetsim {

// How our kubelets behave.
struct KubeletOptions {
  std::string pod_namespace = "default";  // of our Pods; must exist
  int64_t daemon_pods = 0;                // on each Node, as of a DaemonSet
  double speed = 1;                       // grace periods are divided by it
};

// One machine: what is desired of it, and what the API server has of it.
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
  std::vector<ClusterCall> calls = {};             // to be made in this order
  absl::Time look_again = absl::InfiniteFuture();  // when to plan again even if nothing changes
};

// What a machine's kubelet does next. Pure and level-triggered: once a plan was carried out, and
// seen, the next ones are empty.
ClusterPlan PlanCluster(const MachineFacts& facts, const KubeletOptions& options);

}  // namespace muster::fleetsim
