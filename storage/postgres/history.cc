#include "storage/postgres/history.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"

namespace muster::storage {
namespace {

Continuity Replaced(std::string reason) {
  return {Continuity::Verdict::kReplaced, std::move(reason)};
}

Continuity OfBatch(const Position& known, const std::string& batch) {
  if (batch == known.batch) return {};
  return Replaced(absl::StrCat("Revision ", known.revision, " was written by another batch."));
}

}  // namespace

Continuity Judge(const Position& known, const Head& head) {
  if (head.incarnation != known.incarnation) {
    return Replaced(absl::StrCat("The history bears the name ", head.incarnation, " instead of ",
                                 known.incarnation, "."));
  }
  if (head.revision < known.revision) {
    return Replaced(
        absl::StrCat("The head went back from ", known.revision, " to ", head.revision, "."));
  }
  if (head.revision == known.revision) return OfBatch(known, head.batch);
  if (known.revision == 0 && head.compacted_revision == 0) return {};
  if (head.compacted_revision >= known.revision) {
    return {Continuity::Verdict::kUnproved,
            absl::StrCat("The journal was compacted up to ", head.compacted_revision,
                         ", memory is at ", known.revision, ".")};
  }
  if (!head.known_batch.has_value())
    return Replaced(absl::StrCat("The journal has no revision ", known.revision, "."));
  return OfBatch(known, *head.known_batch);
}

absl::Status HistoryReplaced(absl::string_view why) {
  return error::Make(
      absl::StatusCode::kOutOfRange,
      absl::StrCat(
          "The database lost the history that this watch followed; begin with a snapshot. ", why),
      {.reason = "HISTORY_REPLACED"});
}

absl::Status CheckSameHistory(absl::string_view theirs, absl::string_view now) {
  if (theirs.empty() || theirs == now) return absl::OkStatus();
  return error::Make(
      absl::StatusCode::kOutOfRange,
      "The database lost the history that the pages before are of; begin with the first.",
      {.reason = "HISTORY_REPLACED"});
}

absl::Time TimeUnder(absl::Time commit_time, absl::Time now, absl::Time estimate) {
  return now >= commit_time ? now : std::max(commit_time, estimate);
}

}  // namespace muster::storage
