#pragma once

#include <string>
#include <variant>
#include <vector>

#include "muster/capacity/v1/capacity.pb.h"
#include "muster/configuration/v1/configuration.pb.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"
#include "muster/quota/v1/quota.pb.h"

// What a manifest may hold, and where it belongs.
namespace muster::musterctl {

// Organization and cluster of resources that do not name their own.
struct Scope {
  std::string organization = {};
  std::string cluster = {};
};

// A `MachineSet` is not known to the server: it stands for the machines that it expands to.
struct MachineSet {
  std::string name = {};
  std::vector<capacity::v1::Machine> machines = {};  // by index; at least one
};

// The alternatives are in the order in which resources are sent: what others refer to comes first.
using Resource = std::variant<capacity::v1::Zone, capacity::v1::InstanceType, MachineSet,
                              capacity::v1::Machine, quota::v1::Quota, configuration::v1::Release,
                              lifecycle::v1::Cluster, lifecycle::v1::NodePool>;

}  // namespace muster::musterctl
