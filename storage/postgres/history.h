#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/error.h"
#include "storage/postgres/journal.h"

// Whether what the head says goes on from what memory knows. A database may lose commits under
// running servers: a standby is promoted without the last ones, a backup is restored in place. A
// revision alone does not tell: the new history may have grown past the old number. All pure.
namespace muster::storage {

struct Continuity {
  enum class Verdict {
    kContinues,
    kUnproved,  // the journal was compacted past what memory knows: only the tables can tell
    kReplaced,  // what memory knows was lost
  };
  Verdict verdict = Verdict::kContinues;
  std::string reason = {};  // a sentence, unless kContinues

  bool continues() const { return verdict == Verdict::kContinues; }
  bool replaced() const { return verdict == Verdict::kReplaced; }
};

// `head` was read after `known` had been committed, and asked for the batch of `known.revision`.
Continuity Judge(const Position& known, const Head& head);

// OUT_OF_RANGE, HISTORY_REPLACED: a watch cannot go on, or begin, in a history that was replaced.
absl::Status HistoryReplaced(absl::string_view why);

// The same error for a page of a list, if the pages before it are of another history (`theirs`)
// than the present one (`now`). OK if `theirs` is empty: not known.
absl::Status CheckSameHistory(absl::string_view theirs, absl::string_view now);

// UNAVAILABLE: the request was made in a history that was replaced meanwhile.
inline absl::Status HistoryLost() {
  return error::Unavailable("The database lost the history that this was asked in.");
}

// The time for decisions under a head whose last commit was at `commit_time`: the database's `now`
// or, if that clock stepped back, `estimate`, which went on steadily. Never before `commit_time`.
absl::Time TimeUnder(absl::Time commit_time, absl::Time now, absl::Time estimate);

}  // namespace muster::storage
