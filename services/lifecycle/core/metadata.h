#pragma once

#include "absl/strings/string_view.h"
#include "services/lifecycle/core/types.h"

// What a Node of a pool carries in Kubernetes: computed here and nowhere else.
namespace muster::lifecycle {

struct Metadata {
  StringMap labels = {};
  StringMap annotations = {};
  std::vector<Taint> taints = {};
};

// All of a Node that DesiredMetadata reads, its GPUs aside.
struct MetadataInputs {
  absl::string_view state_label = {};
  bool arriving = false;    // on its way into production
  bool past_drain = false;  // on its way out, behind its drain
  Word reserved_desired = {};
  bool preempted = false;
  absl::Time evict_time = kNever;  // since when its preemption drains it; kNever: it does not
  bool operator==(const MetadataInputs&) const = default;
};
MetadataInputs MetadataInputsOf(const Node& node);

// All labels, annotations and taints that we own on a Node of `pool` as `node` is: its state, work
// and preemption. `gpu`: its type has GPUs. Pure; the pool's own never override ours, because
// reserved keys are refused at the API.
Metadata DesiredMetadata(const Pool& pool, const Node& node, bool gpu);

// Puts DesiredMetadata into the Node. True: something changed.
bool UpdateMetadata(Node& node, const Pool& pool, bool gpu);

// Whether the Node's type has GPUs, as its taints tell: for callers that do not know the type.
bool HasGpus(const Node& node);

// The value of the taint `node.coreweave.cloud/reserved`: a hash of the label's value, 16 hex
// digits.
std::string ReservedHash(absl::string_view reserved);

}  // namespace muster::lifecycle
