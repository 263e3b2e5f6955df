#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/common/state.h"
#include "services/configuration/core/commands.h"
#include "services/configuration/core/state.h"

// The decisions. Pure apart from the overlay: they may be run again. Commands must be valid
// (validate.h). A refused command leaves nothing behind.
namespace muster::configuration {

// Publishes, and looks again at every pool that the release could concern: the want of each group
// of pools is resolved once, and only pools whose configuration changes are written. Never fails.
absl::StatusOr<Release> Decide(Overlay<State>& overlay, const PublishRelease& command,
                               absl::Time now);

// Takes what the pool asks for, and answers with what its Nodes are to boot. An older generation
// than the last is refused (ABORTED, GENERATION_TOO_OLD). An equal one is taken: the cluster's
// Kubernetes version, which is in the spec, changes without the pool's generation. A newer one is
// kept even when nothing else is new: it is the fence against what comes late. With `release` the
// configuration is removed; the answer then bears the uid and the generation only.
absl::StatusOr<PoolConfiguration> Decide(Overlay<State>& overlay, const SyncPool& command,
                                         absl::Time now);

// One answer or refusal a request, in their order. Never fails as a whole.
absl::StatusOr<std::vector<absl::StatusOr<PoolConfiguration>>> Decide(Overlay<State>& overlay,
                                                                      const SyncPools& command,
                                                                      absl::Time now);

}  // namespace muster::configuration
