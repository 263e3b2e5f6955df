#include "services/musterd/this_life.h"

#include <algorithm>

#include "services/common/status_macros.h"

namespace muster::musterd {
namespace {

// The answer for a revision that is not in the log of the present life; `last` is the last page of
// that log.
Life AtTheEnd(int64_t revision, const storage::ChangeLog& last) {
  if (last.changes.empty()) return Life::kForgotten;
  const storage::LoggedChange& oldest = last.changes.back();
  const bool is_creation = oldest.previous == 0;
  return !is_creation && revision < oldest.revision ? Life::kForgotten : Life::kOther;
}

}  // namespace

void CutAtCreation(storage::ChangeLog& log) {
  const auto creation =
      std::find_if(log.changes.begin(), log.changes.end(),
                   [](const storage::LoggedChange& change) { return change.previous == 0; });
  if (creation == log.changes.end()) return;
  log.changes.erase(creation + 1, log.changes.end());
  log.next = 0;
}

absl::StatusOr<Life> LifeOf(int64_t revision, const ListLog& list) {
  for (int64_t from = 0;;) {
    ASSIGN_OR_RETURN(storage::ChangeLog log, list(from));
    CutAtCreation(log);
    for (const storage::LoggedChange& change : log.changes)
      if (change.revision == revision) return Life::kThis;
    if (log.next == 0) return AtTheEnd(revision, log);
    if (log.next < revision) return Life::kOther;
    from = log.next;
  }
}

}  // namespace muster::musterd
