#include "services/configuration/core/census.h"

namespace muster::configuration {

void Census::Add(const PoolConfiguration& pool) {
  ++pools;
  if (!pool.problem.empty()) ++with_problem;
  if (pool.has_pending()) ++with_pending;
  if (pool.has_waiting()) ++with_waiting;
  if (!pool.revisions.empty() && pool.revisions.back().disabled) ++active_disabled;
  for (const Revision& revision : pool.revisions) disabled_revisions += revision.disabled ? 1 : 0;
}

void Census::Add(const Release& release) {
  if (!release.withdraw_time.has_value()) ++releases[{release.channel, release.component}];
}

}  // namespace muster::configuration
