#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/kept_request.h"
#include "services/common/released_pool.h"
#include "services/common/state.h"
#include "services/quota/core/key_use.h"
#include "services/quota/core/overrides.h"
#include "services/quota/core/rows.h"

namespace muster::quota {

// All quotas and holdings, with what is held under each key, the pools that were released, and the
// answers that are kept.
class State : public StateBase<State, Quota, Holding, ReleasedPool, KeptRequest> {
 public:
  // Its tables are large in code: all that changes them is compiled once (state.cc).
  State();
  State(const State&);
  State(State&&) noexcept;
  State& operator=(const State&);
  State& operator=(State&&) noexcept;
  ~State();

  void Reindex(const Quota* before, const Quota* after);
  void Reindex(const Holding* before, const Holding* after);
  void Reindex(const ReleasedPool* before, const ReleasedPool* after);
  void Reindex(const KeptRequest* before, const KeptRequest* after);

  // What is held under the Quota of this name, which need not exist.
  const KeyUse& UseOf(absl::string_view quota) const {
    static const KeyUse kNone;
    const auto it = uses_.find(quota);
    return it == uses_.end() ? kNone : it->second;
  }
  int64_t Held(absl::string_view quota) const { return UseOf(quota).held(); }

  const ReleasedByTime& released() const { return released_; }
  const KeptByTime& kept() const { return kept_; }

  // The next change of the limit in force of each Quota that has one, by time; see NextChange.
  using Changes = absl::btree_set<std::pair<absl::Time, std::string>>;
  const Changes& changes() const { return changes_; }
  // The first of them; InfiniteFuture: there is none.
  absl::Time NextChangeOfAll() const {
    return changes_.empty() ? absl::InfiniteFuture() : changes_.begin()->first;
  }

 private:
  absl::flat_hash_map<std::string, KeyUse> uses_;
  Changes changes_;
  ReleasedByTime released_;
  KeptByTime kept_;
};

}  // namespace muster::quota

namespace muster {
extern template class StateBase<quota::State, quota::Quota, quota::Holding, ReleasedPool,
                                KeptRequest>;
}  // namespace muster
