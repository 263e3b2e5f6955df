#include "services/configuration/core/decide.h"

#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/error_reasons.h"
#include "services/common/generation.h"
#include "services/common/released_pool.h"
#include "services/common/status_macros.h"
#include "services/configuration/core/forget.h"
#include "services/configuration/core/limits.h"
#include "services/configuration/core/names.h"
#include "services/configuration/core/orders.h"
#include "services/configuration/core/resolve.h"
#include "services/configuration/core/settle.h"
#include "services/configuration/core/strategy.h"
#include "services/configuration/core/wants.h"

namespace muster::configuration {
namespace {

// The part of a want that is the pool's own spec: the Kubernetes version is its cluster's.
Wants OwnPart(const Spec& spec) {
  Wants wants = WantsOf(spec);
  wants.kubernetes.clear();
  return wants;
}

PoolConfiguration SettleNow(StagedState<State>& staged, PoolConfiguration pool, Trigger trigger,
                            absl::Time now) {
  const Resolution resolution = Resolve(staged.state(), WantsOf(pool.spec));
  return Settle(staged, std::move(pool), resolution, trigger, now);
}

absl::StatusOr<PoolConfiguration> FindPool(const StagedState<State>& staged,
                                           const std::string& pool_uid) {
  const std::string key = PoolConfigurationName(pool_uid);
  const PoolConfiguration* pool = staged.state().table<PoolConfiguration>().Find(key);
  if (pool == nullptr) return error::NotFound(key);
  return *pool;
}

}  // namespace

absl::StatusOr<Release> Decide(StagedState<State>& staged, const PublishRelease& command,
                               absl::Time now) {
  Release release = {command.channel, command.component, command.version, now};
  const Release* known = staged.state().table<Release>().Find(release.Key());
  if (known == nullptr && release.version.size() > kMaxNewReleaseBytes)
    return error::InvalidField(
        "release.name",
        absl::StrCat("must end with a version or name of at most ", kMaxNewReleaseBytes,
                     " bytes: no NodePool can ask for a longer one."));
  if (known != nullptr) release.create_time = known->create_time;
  staged.Put(release);
  return release;
}

absl::StatusOr<Release> Decide(StagedState<State>& staged, const WithdrawRelease& command,
                               absl::Time now) {
  const std::string key = ReleaseName(command.channel, command.component, command.version);
  const Release* known = staged.state().table<Release>().Find(key);
  if (known == nullptr) return error::NotFound(key);
  Release release = *known;
  if (!release.withdraw_time) release.withdraw_time = now;
  staged.Put(release);
  return release;
}

absl::Status Decide(StagedState<State>& staged, const DeleteRelease& command, absl::Time /*now*/) {
  const std::string key = ReleaseName(command.channel, command.component, command.version);
  const Release* known = staged.state().table<Release>().Find(key);
  if (known == nullptr) return command.allow_missing ? absl::OkStatus() : error::NotFound(key);
  if (!known->withdraw_time)
    return error::FailedPrecondition("RELEASE_IN_FORCE", key,
                                     "The release is in force; withdraw it first.");
  staged.Delete<Release>(key);
  return absl::OkStatus();
}

size_t Decide(StagedState<State>& staged, const SettlePools& command, absl::Time now) {
  Resolutions resolutions;
  size_t changed = 0;
  for (const std::string& key : command.keys) {
    const PoolConfiguration* pool = staged.state().table<PoolConfiguration>().Find(key);
    if (pool == nullptr) continue;
    const Resolution& resolution = resolutions.Of(staged.state(), *pool);
    if (IsSettled(staged.state(), *pool, resolution)) continue;
    Settle(staged, *pool, resolution, Trigger::kUpstream, now);
    ++changed;
  }
  return changed;
}

absl::StatusOr<PoolConfiguration> Decide(StagedState<State>& staged, const SyncPool& command,
                                         absl::Time now, const Policy& policy) {
  const std::string key = PoolConfigurationName(command.pool_uid);
  const PoolConfiguration* known = staged.state().table<PoolConfiguration>().Find(key);
  const ReleasedPool* released = FindReleased(staged.state(), command.pool_uid);
  if (released != nullptr && !command.release) return error::PoolReleased(key, *released);
  // A release that is repeated is answered as the first one was.
  if (released == nullptr) {
    RETURN_IF_ERROR(
        CheckGeneration(key, command.generation, known == nullptr ? 0 : known->generation));
  }
  PoolConfiguration pool = {.pool_uid = command.pool_uid};
  if (command.release) {
    staged.Delete<PoolConfiguration>(key);
    RememberReleased(staged, {command.pool_uid, command.generation, now}, policy.released_keep);
    pool.generation = command.generation;
    return pool;
  }
  Trigger trigger = Trigger::kSpec;
  if (known != nullptr) {
    pool = *known;
    if (OwnPart(pool.spec) == OwnPart(command.spec)) trigger = Trigger::kUpstream;
  }
  pool.generation = command.generation;
  if (!command.pool.empty()) pool.pool = command.pool;
  pool.spec = command.spec;
  pool.mid_delivery = command.nodes_in_delivery > 0;
  if (command.boot_failures) {
    pool = CountFailures(std::move(pool), *command.boot_failures, policy);
  }
  Forget(pool, command.running_profiles, command.orders_told);
  return SettleNow(staged, std::move(pool), trigger, now);
}

absl::StatusOr<std::vector<absl::StatusOr<PoolConfiguration>>> Decide(StagedState<State>& staged,
                                                                      const SyncPools& command,
                                                                      absl::Time now,
                                                                      const Policy& policy) {
  std::vector<absl::StatusOr<PoolConfiguration>> answers;
  answers.reserve(command.requests.size());
  for (const SyncPool& request : command.requests) {
    answers.push_back(Decide(staged, request, now, policy));
  }
  return answers;
}

std::vector<absl::StatusOr<PoolConfiguration>> Check(StagedState<State>& staged, SyncPools command,
                                                     absl::Time now, const Policy& policy) {
  for (SyncPool& request : command.requests) {
    const PoolConfiguration* known =
        staged.state().table<PoolConfiguration>().Find(PoolConfigurationName(request.pool_uid));
    request.generation =
        CheckedGeneration(request.generation, known == nullptr ? 0 : known->generation);
  }
  return *Decide(staged, command, now, policy);
}

absl::StatusOr<OrderResult> Decide(StagedState<State>& staged, const OrderPool& command,
                                   absl::Time now) {
  ASSIGN_OR_RETURN(PoolConfiguration pool, FindPool(staged, command.pool_uid));
  const size_t more = command.rollback.empty() ? 1 : 2;
  if (pool.orders.size() + more > kMostOrders) {
    return error::FailedPrecondition(
        error::kTooManyOrders, pool.Key(),
        absl::StrCat(kMostOrders, " orders were given whose end nobody was told of yet."));
  }
  const std::set<std::string> withdrawn = WithdrawnOf(staged.state(), pool);
  Ordered ordered = command.rollback.empty()
                        ? GiveOrder(std::move(pool), staged.state().table<NodeProfile>(),
                                    command.kind, command.requested, now, withdrawn)
                        : GiveBoth(std::move(pool), command.requested, command.rollback, now);
  OrderResult answer = {.refusal = Refusal(ordered.pool, ordered.order)};
  answer.pool = SettleNow(staged, std::move(ordered.pool), Trigger::kUpstream, now);
  return answer;
}

absl::StatusOr<PoolConfiguration> Decide(StagedState<State>& staged, const EnableRevision& command,
                                         absl::Time now) {
  ASSIGN_OR_RETURN(PoolConfiguration pool, FindPool(staged, command.pool_uid));
  if (FindRevision(pool, command.node_profile) == nullptr) {
    return error::NotFound(absl::StrCat(pool.Key(), "/revisions/", command.node_profile));
  }
  pool = Enable(std::move(pool), command.node_profile);
  return SettleNow(staged, std::move(pool), Trigger::kUpstream, now);
}

}  // namespace muster::configuration
