#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "storage/postgres/change_log.h"

// What a resource was in the life that it has now. A pool's uid can be taken again once its release is forgotten (--released_keep): what bore
// it before may have been another organization's.
namespace muster::musterd {

// Some changes of one resource, from that revision back; 0: from the newest.
using ListLog = std::function<absl::StatusOr<storage::ChangeLog>(int64_t newest)>;

// Ends the log at the creation of its first change's life.
void CutAtCreation(storage::ChangeLog& log);

// Of which life of the resource a revision is: of that which it has now, or of none or an earlier one.
enum class Life {
  kThis,
  kForgotten,  // it is older than all that the journal still has of this life
  kOther,
};
absl::StatusOr<Life> LifeOf(int64_t revision, const ListLog& list);

}  // namespace muster::musterd
