#include "services/configuration/core/strategy.h"

#include <algorithm>
#include <utility>

#include "services/configuration/core/limits.h"
#include "services/configuration/core/profile.h"

namespace muster::configuration {
namespace {

bool StagedAtOnce(const PoolConfiguration& pool, Trigger trigger) {
  if (pool.revisions.empty()) return true;
  switch (pool.spec.strategy) {
    case Strategy::kManual:
      return false;
    case Strategy::kOnSpecUpdate:
      return trigger == Trigger::kSpec || !pool.problem.empty();
    case Strategy::kAlways:
      return true;
  }
  return false;
}

// A profile that comes back moves to the end, so that the list stays a list of profiles and cannot
// grow by going to and fro.
void Stage(PoolConfiguration& pool, Revision revision) {
  auto& revisions = pool.revisions;
  const auto same = std::find_if(revisions.begin(), revisions.end(), [&](const Revision& old) {
    return old.node_profile == revision.node_profile;
  });
  if (same != revisions.end()) revisions.erase(same);
  // A clock that went back must not put the list out of order.
  if (!revisions.empty()) {
    revision.create_time = std::max(revision.create_time, revisions.back().create_time);
  }
  revisions.push_back(std::move(revision));
  if (revisions.size() > kMaxRevisions) revisions.erase(revisions.begin());
}

}  // namespace

PoolConfiguration Next(PoolConfiguration pool, const NodeProfile* active,
                       const Resolution& resolution, Trigger trigger, absl::Time now) {
  if (!resolution.problem.empty()) {
    pool.problem = resolution.problem;
    pool.pending = {};
    return pool;
  }
  const NodeProfile& wanted = resolution.profile;
  if (wanted.id == pool.active()) {
    pool.pending = {};
  } else if (StagedAtOnce(pool, trigger)) {
    Stage(pool, {wanted.id, now, Summary(active, wanted)});
    pool.pending = {};
  } else if (wanted.id != pool.pending.node_profile) {
    pool.pending = {wanted.id, now, Summary(active, wanted)};
  }
  pool.problem.clear();
  return pool;
}

}  // namespace muster::configuration
