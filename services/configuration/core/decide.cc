#include "services/configuration/core/decide.h"

#include <string>
#include <utility>

#include "services/common/error.h"
#include "services/configuration/core/names.h"
#include "services/configuration/core/resolve.h"
#include "services/configuration/core/strategy.h"
#include "services/configuration/core/wants.h"

namespace muster::configuration {
namespace {

// Brings one pool to what it resolves to, and writes what is new. Profiles come before the pools
// that name them.
PoolConfiguration Settle(Overlay<State>& overlay, PoolConfiguration pool,
                         const Resolution& resolution, Trigger trigger, absl::Time now) {
  const NodeProfile* active =
      overlay.state().table<NodeProfile>().Find(NodeProfileName(pool.active()));
  pool = Next(std::move(pool), active, resolution, trigger, now);
  if (resolution.problem.empty()) overlay.Put(resolution.profile);
  overlay.Put(pool);
  return pool;
}

// The part of a want that is the pool's own spec: the Kubernetes version is its cluster's.
Wants OwnPart(const Spec& spec) {
  Wants wants = WantsOf(spec);
  wants.kubernetes.clear();
  return wants;
}

// A group of pools that want the same, and what that came to before the release.
struct Group {
  Wants wants = {};
  Resolution before = {};
};

std::vector<Group> GroupsThatFollow(const State& state, const Release& release) {
  std::vector<Group> groups;
  for (const auto& [wants, pools] : state.followers()) {
    if (Follows(wants, release)) groups.push_back({wants, Resolve(state, wants)});
  }
  return groups;
}

}  // namespace

absl::StatusOr<Release> Decide(Overlay<State>& overlay, const PublishRelease& command,
                               absl::Time now) {
  const Release release = {command.channel, command.component, command.version, now};
  const Release* known = overlay.state().table<Release>().Find(release.Key());
  if (known != nullptr) return *known;

  const std::vector<Group> groups = GroupsThatFollow(overlay.state(), release);
  overlay.Put(release);
  for (const Group& group : groups) {
    const Resolution after = Resolve(overlay.state(), group.wants);
    if (after == group.before) continue;
    // Settling changes rows, never wants: the group's list stays as it is.
    for (const std::string& key : overlay.state().followers().at(group.wants)) {
      const PoolConfiguration* pool = overlay.state().table<PoolConfiguration>().Find(key);
      Settle(overlay, *pool, after, Trigger::kUpstream, now);
    }
  }
  return release;
}

absl::StatusOr<PoolConfiguration> Decide(Overlay<State>& overlay, const SyncPool& command,
                                         absl::Time now) {
  const std::string key = PoolConfigurationName(command.pool_uid);
  const PoolConfiguration* known = overlay.state().table<PoolConfiguration>().Find(key);
  if (known != nullptr && command.generation < known->generation) {
    return error::GenerationTooOld(key, command.generation, known->generation);
  }
  PoolConfiguration pool = {.pool_uid = command.pool_uid};
  if (command.release) {
    overlay.Delete<PoolConfiguration>(key);
    pool.generation = command.generation;
    return pool;
  }
  Trigger trigger = Trigger::kSpec;
  if (known != nullptr) {
    pool = *known;
    if (OwnPart(pool.spec) == OwnPart(command.spec)) trigger = Trigger::kUpstream;
  }
  pool.generation = command.generation;
  pool.spec = command.spec;
  const Resolution resolution = Resolve(overlay.state(), WantsOf(pool.spec));
  return Settle(overlay, std::move(pool), resolution, trigger, now);
}

absl::StatusOr<std::vector<absl::StatusOr<PoolConfiguration>>> Decide(Overlay<State>& overlay,
                                                                      const SyncPools& command,
                                                                      absl::Time now) {
  std::vector<absl::StatusOr<PoolConfiguration>> answers;
  answers.reserve(command.requests.size());
  for (const SyncPool& request : command.requests) {
    answers.push_back(Decide(overlay, request, now));
  }
  return answers;
}

}  // namespace muster::configuration
