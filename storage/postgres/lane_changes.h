#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/common/error.h"
#include "services/common/state.h"
#include "services/common/status_macros.h"
#include "storage/postgres/change_log.h"
#include "storage/postgres/journal.h"
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

  // The resources below `prefix` whose keys are `wanted`, as they were then, after the key `after`; at most `limit`.
  absl::StatusOr<PastPage> ListPast(const std::string& prefix,
                                    absl::FunctionRef<bool(absl::string_view key)> wanted,
                                    const Moment& then, const std::string& after, size_t limit,
                                    absl::Time deadline);

 private:
  using Change = typename State::Change;

  // By key: where to read the resource as it was.
  struct Source {
    std::optional<Revised<Change>> row = {};  // in memory; else in the journal
    int64_t revision = 0;
  };
  using Sources = std::map<std::string, Source>;

  static bool IsShown(absl::string_view kind) { return !absl::StartsWith(kind, "_"); }
  static absl::Status CheckNotAhead(const Moment& then, int64_t head);
  // The revision that the moment is.
  static absl::StatusOr<int64_t> Resolve(Transaction& tx, const Moment& then);
  // Where `now` is not how it was at `revision`.
  static absl::Status GoBack(Transaction& tx, int64_t revision, const std::string& prefix,
                             absl::FunctionRef<bool(absl::string_view key)> wanted, Sources& now);
  absl::Status Fill(Transaction& tx, const Sources& sources, const std::string& after, size_t limit,
                    PastPage& page) const;

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
  RETURN_IF_ERROR(ReadNow(reads_, deadline,
                          // Memory is held for reading.
                          [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
                            now.head = memory_.held_at().revision;
                            now.row = memory_.held().FindKey(&IsShown, key);
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
    if (from == 0) from = now.row ? now.row->revision : journal::FindDeletion(tx, key);
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
  RETURN_IF_ERROR(CheckNotAhead(then, now.head));
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
  const int64_t last = now.row ? now.row->revision : journal::FindDeletion(tx, key);
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

template <class State>
absl::Status LaneChanges<State>::CheckNotAhead(const Moment& then, int64_t head) {
  if (then.revision == Moment().revision || then.revision <= head) return absl::OkStatus();
  return error::Make(absl::StatusCode::kOutOfRange,
                     absl::StrCat("The last revision is ", head, "."),
                     {.reason = "REVISION_IN_FUTURE"});
}

template <class State>
absl::StatusOr<PastPage> LaneChanges<State>::ListPast(
    const std::string& prefix, absl::FunctionRef<bool(absl::string_view key)> wanted,
    const Moment& then, const std::string& after, size_t limit, absl::Time deadline) {
  Sources now;
  int64_t head = 0;
  RETURN_IF_ERROR(ReadNow(reads_, deadline,
                          // Memory is held for reading.
                          [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
                            head = memory_.held_at().revision;
                            memory_.held().ForEachUnder(&IsShown, prefix, [&](Revised<Change> row) {
                              if (!wanted(row.change.key)) return;
                              std::string key = row.change.key;
                              const int64_t revision = row.revision;
                              now[std::move(key)] = {std::move(row), revision};
                            });
                          }));
  RETURN_IF_ERROR(CheckNotAhead(then, head));
  PastPage page;
  RETURN_IF_ERROR(db_.Read([&](Transaction& tx) -> absl::Status {
    page = PastPage();
    ASSIGN_OR_RETURN(page.revision, Resolve(tx, then));
    Sources sources = now;
    RETURN_IF_ERROR(GoBack(tx, page.revision, prefix, wanted, sources));
    return Fill(tx, sources, after, limit, page);
  }));
  return page;
}

template <class State>
absl::StatusOr<int64_t> LaneChanges<State>::Resolve(Transaction& tx, const Moment& then) {
  const Head head = journal::Peek(tx, 0);
  int64_t revision = std::min(then.revision, head.revision);
  const bool is_empty = head.revision == head.compacted_revision;
  if (then.time != absl::InfiniteFuture() && !(is_empty && then.time >= head.commit_time))
    revision = std::min(revision, journal::RevisionAt(tx, then.time));
  if (revision < head.compacted_revision)
    return Forgotten(head.compacted_revision, journal::ReachesBackTo(tx));
  return revision;
}

template <class State>
absl::Status LaneChanges<State>::GoBack(Transaction& tx, int64_t revision,
                                        const std::string& prefix,
                                        absl::FunctionRef<bool(absl::string_view key)> wanted,
                                        Sources& now) {
  for (const FirstChange& change : journal::FirstChangesAfter(tx, revision, prefix)) {
    if (!wanted(change.key)) continue;
    if (!change.previous) return Forgotten(revision, journal::ReachesBackTo(tx));
    if (*change.previous == 0) {
      now.erase(change.key);
    } else {
      now[change.key] = {std::nullopt, *change.previous};
    }
  }
  return absl::OkStatus();
}

template <class State>
absl::Status LaneChanges<State>::Fill(Transaction& tx, const Sources& sources,
                                      const std::string& after, size_t limit,
                                      PastPage& page) const {
  std::map<int64_t, std::string> elsewhere;  // keys, by the revision that the journal has them at
  auto it = sources.upper_bound(after);
  for (; it != sources.end() && page.rows.size() + elsewhere.size() < limit; ++it) {
    const auto& [key, source] = *it;
    if (!source.row) {
      elsewhere.emplace(source.revision, key);
      continue;
    }
    page.rows.push_back({key, std::string(source.row->change.kind()), source.revision,
                         std::make_shared<const std::string>(store_.Encode(*source.row))});
  }
  page.more = it != sources.end();
  if (it != sources.begin()) page.last = std::prev(it)->first;
  std::vector<int64_t> revisions;
  for (const auto& [revision, key] : elsewhere) revisions.push_back(revision);
  std::vector<PastRow> found = journal::ReadRevisions(tx, revisions);
  if (found.size() < revisions.size()) return Forgotten(page.revision, journal::ReachesBackTo(tx));
  for (PastRow& row : found) {
    // What is null was gone by then.
    if (row.bytes != nullptr) page.rows.push_back(std::move(row));
  }
  std::sort(page.rows.begin(), page.rows.end(),
            [](const PastRow& a, const PastRow& b) { return a.key < b.key; });
  return absl::OkStatus();
}

}  // namespace muster::storage
