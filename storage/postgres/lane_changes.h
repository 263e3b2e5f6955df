#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/common/error.h"
#include "services/common/state.h"
#include "services/common/status_macros.h"
#include "storage/postgres/change_log.h"
#include "storage/postgres/lane_context.h"
#include "storage/postgres/read_barrier.h"

namespace muster::storage {

// Tells what a lane's journal knows of one resource, on the caller's thread and without holding anybody up. Thread-safe; has no
// lock. Errors: NOT_FOUND; OUT_OF_RANGE (GetPast); UNAVAILABLE the database is away.
template <class State>
class LaneChanges {
 public:
  LaneChanges(const LaneContext<State>& lane, ReadBarrier& reads)
      : store_(lane.store), db_(lane.db), memory_(lane.memory), reads_(reads) {}

  // All that was committed before the call: from the change with the revision `newest` back (0: from the last), at most `limit`.
  absl::StatusOr<ChangeLog> List(const std::string& key, int64_t newest, int64_t limit,
                                 absl::Time deadline);
  // The resource as it was then, as the one change of the log; its author and time are not known when only memory knows it.
  absl::StatusOr<ChangeLog> GetPast(const std::string& key, const Moment& then,
                                    absl::Time deadline);

 private:
  using Change = typename State::Change;

  // The resource as memory has it, and where memory is.
  struct Now {
    std::optional<Revised<Change>> row = {};
    int64_t head = 0;
  };

  absl::StatusOr<Now> Look(const std::string& key, absl::Time deadline);
  ChangeLog FromMemory(const Revised<Change>& row) const;
  absl::Status ReadPast(Transaction& tx, const std::string& key, const Now& now, const Moment& then,
                        ChangeLog& log) const;
  static absl::Status NotFound(absl::string_view key) {
    return error::Make(absl::StatusCode::kNotFound, absl::StrCat(key, " is not known."),
                       {.reason = "NOT_FOUND"});
  }

  const Store<State>& store_;
  LaneDb& db_;
  StateCell<State>& memory_;
  ReadBarrier& reads_;
};

template <class State>
absl::StatusOr<typename LaneChanges<State>::Now> LaneChanges<State>::Look(const std::string& key,
                                                                          absl::Time deadline) {
  Now now;
  const auto shown = [](absl::string_view kind) { return !absl::StartsWith(kind, "_"); };
  RETURN_IF_ERROR(ReadNow(reads_, deadline,
                          // Memory is held for reading.
                          [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
                            now.head = memory_.held_at().revision;
                            now.row = memory_.held().FindKey(shown, key);
                          }));
  return now;
}

template <class State>
absl::StatusOr<ChangeLog> LaneChanges<State>::List(const std::string& key, int64_t newest,
                                                   int64_t limit, absl::Time deadline) {
  ASSIGN_OR_RETURN(const Now now, Look(key, deadline));
  ChangeLog log;
  RETURN_IF_ERROR(db_.Read([&](Transaction& tx) {
    int64_t from = newest;
    if (from == 0) from = now.row ? now.row->revision : journal::FindLastChange(tx, key);
    log = journal::ReadChanges(tx, key, from, limit);
    return absl::OkStatus();
  }));
  if (log.changes.empty() && !now.row) return NotFound(key);
  return log;
}

template <class State>
absl::StatusOr<ChangeLog> LaneChanges<State>::GetPast(const std::string& key, const Moment& then,
                                                      absl::Time deadline) {
  ASSIGN_OR_RETURN(const Now now, Look(key, deadline));
  if (then.revision != Moment().revision && then.revision > now.head) {
    return error::Make(absl::StatusCode::kOutOfRange,
                       absl::StrCat("The last revision is ", now.head, "."),
                       {.reason = "REVISION_IN_FUTURE"});
  }
  ChangeLog log;
  RETURN_IF_ERROR(db_.Read([&](Transaction& tx) {
    log = ChangeLog();
    return ReadPast(tx, key, now, then, log);
  }));
  if (log.changes.empty() || log.changes.front().bytes == nullptr) return NotFound(key);
  return log;
}

template <class State>
absl::Status LaneChanges<State>::ReadPast(Transaction& tx, const std::string& key, const Now& now,
                                          const Moment& then, ChangeLog& log) const {
  const int64_t last = now.row ? now.row->revision : journal::FindLastChange(tx, key);
  const auto found = journal::FindChangeAt(tx, key, last, then);
  if (!found) {
    // The last change is older than the journal.
    if (!now.row) return absl::OkStatus();
    const absl::Time reach = journal::ReachesBackTo(tx);
    if (then.revision < last || then.time < reach) return Forgotten(last, reach);
    log = FromMemory(*now.row);
    return absl::OkStatus();
  }
  ChangeLog at = journal::ReadChanges(tx, key, *found, 1);
  const LoggedChange& change = at.changes.front();
  if (change.revision <= then.revision && change.commit_time <= then.time) {
    log = std::move(at);
  } else if (change.previous != 0) {
    return Forgotten(change.revision, change.commit_time);
  }
  return absl::OkStatus();
}

template <class State>
ChangeLog LaneChanges<State>::FromMemory(const Revised<Change>& row) const {
  ChangeLog log{.kind = std::string(row.change.kind())};
  log.changes.push_back(
      {.revision = row.revision, .bytes = std::make_shared<const std::string>(store_.Encode(row))});
  return log;
}

}  // namespace muster::storage
