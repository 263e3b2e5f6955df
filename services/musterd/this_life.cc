#include "services/musterd/this_life.h"

#include <algorithm>

#include "services/common/status_macros.h"

namespace muster::musterd {

void CutAtCreation(storage::ChangeLog& log) {
  const auto creation =
      std::find_if(log.changes.begin(), log.changes.end(),
                   [](const storage::LoggedChange& change) { return change.previous == 0; });
  if (creation == log.changes.end()) return;
  log.changes.erase(creation + 1, log.changes.end());
  log.next = 0;
}

absl::StatusOr<bool> IsOfThisLife(int64_t revision, const ListLog& list) {
  for (int64_t from = 0;;) {
    ASSIGN_OR_RETURN(storage::ChangeLog log, list(from));
    CutAtCreation(log);
    for (const storage::LoggedChange& change : log.changes)
      if (change.revision == revision) return true;
    if (log.next == 0 || log.next < revision) return false;
    from = log.next;
  }
}

}  // namespace muster::musterd
