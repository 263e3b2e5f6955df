#pragma once

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/released_pool.h"
#include "services/configuration/core/commands.h"
#include "services/configuration/core/types.h"

// The breaker: a profile that different machines fail to boot, one after the other, is disabled.
namespace muster::configuration {

// What an operator may set.
struct Policy {
  int boot_failures_to_disable = 3;  // different machines in a row, 1 to kMaxFailedMachines
  absl::Duration released_keep = kReleasedKeep;  // how long the uid of a released pool is refused
};

// Disables the revision that failed on enough machines. Failures of a profile that is no revision,
// or from before it was enabled again, do not count. If it waited to become active it is dropped,
// and the order that asked for it has failed. Pure.
PoolConfiguration CountFailures(PoolConfiguration pool, const BootFailures& failures,
                                const Policy& policy);

// Lets a disabled revision be booted again. Nothing changes when it is not disabled. Pure.
PoolConfiguration Enable(PoolConfiguration pool, absl::string_view profile);

}  // namespace muster::configuration
