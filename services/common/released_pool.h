#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/interned.h"
#include "services/common/state.h"

// Released is final: the uid of a pool that a service has released is kept, so that a request that
// was under way then, and comes late, brings nothing back.
namespace muster {

// The uid of a pool that was released. A row of each service that keeps something of pools; no
// watch shows it (internal_kind.h).
struct ReleasedPool {
  static constexpr char kKind[] = "_released_pool";
  std::string pool_uid = {};
  int64_t generation = 0;  // of the release
  absl::Time release_time = absl::UnixEpoch();
  Word later = {};  // see services/common/state.h

  const std::string& Key() const { return pool_uid; }
  bool operator==(const ReleasedPool&) const = default;
};

// How long a uid is kept: longer than any request can be under way.
inline constexpr absl::Duration kReleasedKeep = absl::Hours(24);
// The least that an operator may set.
inline constexpr absl::Duration kMinReleasedKeep = absl::Hours(1);
// How many uids beyond their time are forgotten with each new one: several, so that they become
// fewer, and few, so that no decision takes long.
inline constexpr size_t kPurgedAtOnce = 4;

// Released uids by time. Part of a State, which hands its changes on.
class ReleasedByTime {
 public:
  void Reindex(const ReleasedPool* before, const ReleasedPool* after) {
    if (before != nullptr) uids_.erase({before->release_time, before->pool_uid});
    if (after != nullptr) uids_.insert({after->release_time, after->pool_uid});
  }
  // Oldest first.
  const absl::btree_set<std::pair<absl::Time, std::string>>& uids() const { return uids_; }
  bool operator==(const ReleasedByTime& other) const { return uids_ == other.uids_; }

 private:
  absl::btree_set<std::pair<absl::Time, std::string>> uids_;
};

// Null when the uid was never released, or so long ago that it is forgotten.
template <class State>
const ReleasedPool* FindReleased(const State& state, absl::string_view pool_uid) {
  return state.template table<ReleasedPool>().Find(pool_uid);
}

// Keeps the uid, unless it is kept already, and forgets a few that are older than `keep`. State
// provides `const ReleasedByTime& released() const`.
template <class State>
void RememberReleased(StagedState<State>& staged, ReleasedPool released, absl::Duration keep) {
  if (FindReleased(staged.state(), released.pool_uid) != nullptr) return;
  const absl::Time now = released.release_time;
  staged.Put(std::move(released));
  for (size_t purged = 0; purged < kPurgedAtOnce; ++purged) {
    const auto [time, pool_uid] = *staged.state().released().uids().begin();
    if (now - time < keep) return;
    staged.template Delete<ReleasedPool>(pool_uid);
  }
}

// OK when `keep` is at least kMinReleasedKeep; INVALID_ARGUMENT (INVALID_FIELD released_keep).
absl::Status CheckReleasedKeep(absl::Duration keep);

}  // namespace muster

namespace muster::error {

// FAILED_PRECONDITION, POOL_RELEASED: `resource` of a pool cannot come back. Not to be tried again.
absl::Status PoolReleased(absl::string_view resource, const ReleasedPool& released);

}  // namespace muster::error
