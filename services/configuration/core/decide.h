#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/common/state.h"
#include "services/configuration/core/breaker.h"
#include "services/configuration/core/commands.h"
#include "services/configuration/core/state.h"

// The decisions. Pure apart from the staged state: they may be run again. Commands must be valid
// (validate.h). A refused command leaves nothing behind.
namespace muster::configuration {

// Writes the release only: the pools that follow it are settled later (settle.h). One that was
// withdrawn is in force again. Never fails.
absl::StatusOr<Release> Decide(StagedState<State>& staged, const PublishRelease& command,
                               absl::Time now);

// As above. NOT_FOUND: it was never published.
absl::StatusOr<Release> Decide(StagedState<State>& staged, const WithdrawRelease& command,
                               absl::Time now);

// Profiles made of it stay. NOT_FOUND; FAILED_PRECONDITION (RELEASE_IN_FORCE).
absl::Status Decide(StagedState<State>& staged, const DeleteRelease& command, absl::Time now);

// Settles the pools, each distinct want resolved once. Only pools whose configuration changes are
// written; one that is gone is left out. Returns how many changed. Never fails.
size_t Decide(StagedState<State>& staged, const SettlePools& command, absl::Time now);

// Takes what the pool asks for, and answers with what its Nodes are to boot. An older generation
// than the last is refused (ABORTED, GENERATION_TOO_OLD), and one too far beyond it
// (INVALID_ARGUMENT, GENERATION_OUT_OF_RANGE). An equal one is taken: the cluster's Kubernetes
// version, the Nodes in delivery and the boots that failed change without the pool's generation. A
// newer one is kept even when nothing else is new: it is the fence against what comes late. With
// `release` the configuration is removed, and the answer bears the uid and the generation only. A
// release is remembered by the pool's uid, even if there is no configuration: from then on all
// requests for that uid but releases are refused (FAILED_PRECONDITION, POOL_RELEASED).
absl::StatusOr<PoolConfiguration> Decide(StagedState<State>& staged, const SyncPool& command,
                                         absl::Time now, const Policy& policy = {});

// One answer or refusal a request, in their order. Never fails as a whole.
absl::StatusOr<std::vector<absl::StatusOr<PoolConfiguration>>> Decide(StagedState<State>& staged,
                                                                      const SyncPools& command,
                                                                      absl::Time now,
                                                                      const Policy& policy = {});

// What SyncPools would answer; a generation of kNewestGeneration is newer than any. Leaves its
// changes on the staged state: the caller takes them back.
std::vector<absl::StatusOr<PoolConfiguration>> Check(StagedState<State>& staged, SyncPools command,
                                                     absl::Time now, const Policy& policy);

// A pool after an order. An order that is refused is written all the same, so that whoever watches
// the pool hears of it: then `refusal` is what the caller gets (orders.h).
struct OrderResult {
  PoolConfiguration pool = {};
  absl::Status refusal = {};
};

// Gives the order, then settles the pool. NOT_FOUND: there is no such pool; FAILED_PRECONDITION
// (TOO_MANY_ORDERS): see kMostOrders. Then nothing is written.
absl::StatusOr<OrderResult> Decide(StagedState<State>& staged, const OrderPool& command,
                                   absl::Time now);

// NOT_FOUND: no such pool, or none of its revisions.
absl::StatusOr<PoolConfiguration> Decide(StagedState<State>& staged, const EnableRevision& command,
                                         absl::Time now);

}  // namespace muster::configuration
