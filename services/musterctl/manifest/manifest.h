#pragma once

#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/capacity/v1/capacity.pb.h"
#include "muster/configuration/v1/configuration.pb.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"
#include "muster/quota/v1/quota.pb.h"

// From YAML to typed resources, pure. Everything that can be known without the server is checked
// here: kinds, unknown and missing fields, types, ranges of the fields' types. What a value may be
// beyond that is for the server to say.
namespace muster::musterctl {

// Where resources without an organization or cluster of their own belong.
struct Scope {
  std::string organization = {};
  std::string cluster = {};
};

// A `MachineSet` is not known to the server: it stands for the machines that it expands to.
struct MachineSet {
  std::string name = {};
  std::vector<capacity::v1::Machine> machines = {};
};

// The alternatives are in the order in which resources are sent: what others refer to comes first.
using Resource = std::variant<capacity::v1::Zone, capacity::v1::InstanceType, MachineSet,
                              capacity::v1::Machine, quota::v1::Quota, configuration::v1::Release,
                              lifecycle::v1::Cluster, lifecycle::v1::NodePool>;

struct Manifest {
  Resource resource = {};
  std::string label = {};               // e.g. `nodepool/example-nodepool`
  std::string place = {};               // e.g. `pool.yaml: document 2, line 14`
  std::vector<std::string> notes = {};  // what was read and is not kept
};

// Reads every document of a text. INVALID_ARGUMENT whose message has one line a fault:
// `pool.yaml: document 1, line 7: spec.targetNodes: must be an integer, is the string "x"`.
absl::StatusOr<std::vector<Manifest>> ParseManifests(absl::string_view file, absl::string_view text,
                                                     const Scope& scope);

// Sorts by the order of Resource's alternatives, otherwise as they were written.
void SortForSending(std::vector<Manifest>& manifests);

}  // namespace muster::musterctl
