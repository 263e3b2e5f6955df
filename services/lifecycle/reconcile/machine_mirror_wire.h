#pragma once

#include <muster/capacity/v1/capacity.pb.h>

#include "services/lifecycle/reconcile/machine_mirror.h"

// The messages of capacity's watch, reduced to what MachineMirror keeps.
namespace muster::lifecycle {

// Refers to `machine`.
MachineMirror::Machine MirroredMachine(const capacity::v1::Machine& machine);

}  // namespace muster::lifecycle
