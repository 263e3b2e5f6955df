#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "storage/postgres/change_log.h"

// The part of a resource's log that belongs to its present life. A pool's uid can be used again
// once its release is forgotten (--released_keep), and the pool that had it before may have been
// another organization's.
namespace muster::musterd {

// Returns some changes of one resource, from the revision `newest` back; 0: from the newest.
using ListLog = std::function<absl::StatusOr<storage::ChangeLog>(int64_t newest)>;

// Cuts off the changes before the creation that the log's first change goes back to.
void CutAtCreation(storage::ChangeLog& log);

// The life of the resource that a revision belongs to: its present one, or another (an earlier one,
// or none).
enum class Life {
  kThis,
  kForgotten,  // it is older than all that the journal still has of this life
  kOther,
};
absl::StatusOr<Life> LifeOf(int64_t revision, const ListLog& list);

}  // namespace muster::musterd
