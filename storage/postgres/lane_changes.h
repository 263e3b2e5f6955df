#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/common/error.h"
#include "services/common/mutex.h"
#include "services/common/pieces.h"
#include "services/common/state.h"
#include "services/common/status_macros.h"
#include "storage/postgres/change_log.h"
#include "storage/postgres/history.h"
#include "storage/postgres/journal.h"
#include "storage/postgres/lane_context.h"
#include "storage/postgres/past_lists.h"
#include "storage/postgres/read_barrier.h"

namespace muster::storage {

// Reads from a lane's journal the changes of one resource, or what resources were in the past, on
// the caller's thread and without holding anybody up. Thread-safe. Errors: NOT_FOUND; OUT_OF_RANGE
// the history that is named was replaced, or the journal does not reach back to the moment
// (GetPast, ListPast), or the revision is in the future; UNAVAILABLE the database is away, or what
// a list is made from changed while it was read.
template <class State>
class LaneChanges {
 public:
  LaneChanges(const LaneContext<State>& lane, ReadBarrier& reads)
      : options_(lane.options),
        store_(lane.store),
        db_(lane.db),
        memory_(lane.memory),
        reads_(reads) {}

  // Changes of the resource that were committed before the call: from `start` back, at most
  // `limit`. NOT_FOUND: neither memory nor the journal knows the resource. A later page whose
  // changes were forgotten meanwhile is empty.
  absl::StatusOr<ChangeLog> List(const std::string& key, const LogStart& start, int64_t limit,
                                 absl::Time deadline);
  // The resource as it was then, as the only change of the log. Its author and time are not known
  // if the journal has forgotten that change.
  absl::StatusOr<ChangeLog> GetPast(const std::string& key, const Moment& then, Lives lives,
                                    absl::Time deadline);

  // The resources of `scope` as they were then, after the key `after`; at most `limit`. The first
  // page takes time for all resources of their collection and all changes since; another page of
  // the same revision soon after, only for itself.
  absl::StatusOr<PastPage> ListPast(const PastScope& scope, const Moment& then,
                                    const std::string& after, size_t limit, absl::Time deadline);
  // Forgets lists that nobody goes on with. To be called now and then.
  void Tend(PastLists::Time now) { lists_.DropOld(now); }
  // Rows of memory and of the journal that were looked at to work out lists.
  int64_t rows_worked_out() const { return rows_worked_out_; }

 private:
  using Change = typename State::Change;
  // Revisions by key.
  using Revisions = std::map<std::string, int64_t>;

  // What a list is made from: the list itself, if it is kept, else the resources as memory has
  // them.
  struct Start {
    Position at = {};                           // of memory
    std::shared_ptr<const PastList> list = {};  // null: it is not kept
    Revisions now = {};                         // empty if it is
  };

  static constexpr absl::string_view kThisResource = "this resource";

  static bool IsShown(absl::string_view kind) { return !absl::StartsWith(kind, "_"); }
  static absl::Status CheckNotAhead(const Moment& then, int64_t head);
  // A moment as the journal has it.
  struct Resolved {
    PastLists::Id id = {};           // its revision and history, of no scope
    int64_t compacted_revision = 0;  // of the journal

    bool is_forgotten() const { return id.revision < compacted_revision; }
  };
  static absl::StatusOr<Resolved> Resolve(Transaction& tx, const Moment& then,
                                          const Position& seen);
  absl::Status Begin(const PastScope& scope, const Moment& then, absl::Time deadline, Start& start);
  // Reads `start.now` from memory, a piece at a time. Each is as of its own moment, none of them
  // before `start.at`: what was changed since then, or is gone by then, GoBack sets right.
  absl::Status ReadPresent(const PastScope& scope, Start& start);
  // Adds to `found` the next of the scope's rows of one kind, those after the key `after`, which is
  // moved on. False: memory is of another history than `start.at`.
  template <class Row>
  bool ReadPiece(const PastScope& scope, const Position& at, std::string& after,
                 std::vector<std::pair<std::string, int64_t>>& found);
  // Turns `now`, the present revisions, into those at the list's revision. OUT_OF_RANGE, with the
  // oldest moment of which all can be told: of some resource neither memory nor the journal has
  // what it was.
  absl::StatusOr<std::shared_ptr<const PastList>> GoBack(Transaction& tx, const Resolved& moment,
                                                         Revisions now);
  // Adds to `page` the resources at the places from `from` to before `to` of the list, those that
  // memory or the journal still has. False: it has not all of them.
  absl::StatusOr<bool> Fill(Transaction& tx, const PastList& list, size_t from, size_t to,
                            PastPage& page) const;

  // The resource as memory has it, and where memory is.
  struct Now {
    std::optional<Revised<Change>> row = {};
    Position at = {};
  };

  absl::StatusOr<Now> Look(const std::string& key, absl::Time deadline);
  // Whether the journal is of the history that memory was of.
  static bool IsStillOf(Transaction& tx, const Position& seen) {
    return journal::Peek(tx, 0).incarnation == seen.incarnation;
  }
  // OUT_OF_RANGE: the journal does not reach back to then, so that a resource of which it tells
  // nothing may have been there.
  static absl::Status CheckReach(Transaction& tx, const Moment& then, const Now& now) {
    ASSIGN_OR_RETURN(const Resolved moment, Resolve(tx, then, now.at));
    if (!moment.is_forgotten()) return absl::OkStatus();
    return Forgotten(kThisResource, moment.compacted_revision, journal::ReachesBackTo(tx));
  }
  ChangeLog FromMemory(const Revised<Change>& row) const;
  absl::Status ReadPast(Transaction& tx, const std::string& key, const Now& now, const Moment& then,
                        Lives lives, ChangeLog& log) const;

  const LaneOptions& options_;
  const Store<State>& store_;
  LaneDb& db_;
  StateCell<State>& memory_;
  ReadBarrier& reads_;
  PastLists lists_;
  std::atomic<int64_t> rows_worked_out_ = 0;
};

template <class State>
absl::StatusOr<typename LaneChanges<State>::Now> LaneChanges<State>::Look(const std::string& key,
                                                                          absl::Time deadline) {
  Now now;
  RETURN_IF_ERROR(ReadNow(reads_, deadline,
                          // Memory is held for reading.
                          [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
                            now.at = memory_.held_at();
                            now.row = memory_.held().FindKey(&IsShown, key);
                          }));
  return now;
}

template <class State>
absl::StatusOr<ChangeLog> LaneChanges<State>::List(const std::string& key, const LogStart& start,
                                                   int64_t limit, absl::Time deadline) {
  ASSIGN_OR_RETURN(Now now, Look(key, deadline));
  RETURN_IF_ERROR(CheckSameHistory(start.incarnation, now.at.incarnation));
  ChangeLog log;
  RETURN_IF_ERROR(db_.Read([&](Transaction& tx) {
    if (!IsStillOf(tx, now.at)) return HistoryLost();
    int64_t from = start.newest;
    if (from == 0) from = now.row ? now.row->revision : journal::FindDeletion(tx, key);
    log = journal::ReadChanges(tx, key, from, limit);
    return absl::OkStatus();
  }));
  if (start.newest == 0 && log.changes.empty() && !now.row) return error::NotFound(key);
  log.incarnation = std::move(now.at.incarnation);
  return log;
}

template <class State>
absl::StatusOr<ChangeLog> LaneChanges<State>::GetPast(const std::string& key, const Moment& then,
                                                      Lives lives, absl::Time deadline) {
  ASSIGN_OR_RETURN(const Now now, Look(key, deadline));
  RETURN_IF_ERROR(CheckNotAhead(then, now.at.revision));
  ChangeLog log;
  RETURN_IF_ERROR(db_.Read([&](Transaction& tx) {
    if (!IsStillOf(tx, now.at)) return HistoryLost();
    log = ChangeLog();
    return ReadPast(tx, key, now, then, lives, log);
  }));
  if (log.changes.empty() || log.changes.front().bytes == nullptr) return error::NotFound(key);
  return log;
}

template <class State>
absl::Status LaneChanges<State>::ReadPast(Transaction& tx, const std::string& key, const Now& now,
                                          const Moment& then, Lives lives, ChangeLog& log) const {
  const int64_t last = now.row ? now.row->revision : journal::FindDeletion(tx, key);
  const auto found = journal::FindChangeAt(tx, key, last, then, lives);
  if (!found) {
    if (!now.row) return CheckReach(tx, then, now);
    // The last change is older than the journal.
    const absl::Time reach = journal::ReachesBackTo(tx);
    if (then.revision < last || then.time < reach) return Forgotten(kThisResource, last, reach);
    log = FromMemory(*now.row);
    return absl::OkStatus();
  }
  ChangeLog at = journal::ReadChanges(tx, key, *found, 1);
  if (at.changes.empty()) return absl::OkStatus();
  const LoggedChange& change = at.changes.front();
  if (change.revision <= then.revision && change.commit_time <= then.time) {
    log = std::move(at);
  } else if (change.previous != 0) {
    return Forgotten(kThisResource, change.revision, change.commit_time);
  } else {
    // Before its creation there may have been another one of that name.
    return CheckReach(tx, then, now);
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
absl::StatusOr<PastPage> LaneChanges<State>::ListPast(const PastScope& scope, const Moment& then,
                                                      const std::string& after, size_t limit,
                                                      absl::Time deadline) {
  Start start;
  RETURN_IF_ERROR(Begin(scope, then, deadline, start));
  PastPage page;
  RETURN_IF_ERROR(db_.Read([&](Transaction& tx) -> absl::Status {
    page = PastPage();
    ASSIGN_OR_RETURN(Resolved moment, Resolve(tx, then, start.at));
    moment.id.scope = scope;
    page.revision = moment.id.revision;
    page.incarnation = moment.id.incarnation;
    std::shared_ptr<const PastList> list = start.list;
    if (list == nullptr || moment.is_forgotten()) {
      ASSIGN_OR_RETURN(list, GoBack(tx, moment, start.now));
    }
    const size_t from = list->FindAfter(after);
    const size_t to = std::min(list->size(), from + limit);
    page.more = to < list->size();
    if (to > 0) page.last = std::string(list->key(to - 1));
    if (page.more && start.list == nullptr)
      lists_.Keep(moment.id, list, std::chrono::steady_clock::now());
    ASSIGN_OR_RETURN(const bool is_whole, Fill(tx, *list, from, to, page));
    if (is_whole) return absl::OkStatus();
    // Since the list was worked out, what was there has changed, or was forgotten.
    const absl::Status forgotten = GoBack(tx, moment, {}).status();
    return forgotten.ok() ? error::Unavailable("A resource of the list has changed meanwhile.")
                          : forgotten;
  }));
  return page;
}

template <class State>
absl::Status LaneChanges<State>::Begin(const PastScope& scope, const Moment& then,
                                       absl::Time deadline, Start& start) {
  const bool is_revision = then.time == absl::InfiniteFuture();
  const auto now = std::chrono::steady_clock::now();
  RETURN_IF_ERROR(ReadNow(reads_, deadline,
                          // Memory is held for reading.
                          [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { start.at = memory_.held_at(); }));
  RETURN_IF_ERROR(CheckSameHistory(then.incarnation, start.at.incarnation));
  RETURN_IF_ERROR(CheckNotAhead(then, start.at.revision));
  if (is_revision) start.list = lists_.Find({start.at.incarnation, then.revision, scope}, now);
  return start.list != nullptr ? absl::OkStatus() : ReadPresent(scope, start);
}

template <class State>
absl::Status LaneChanges<State>::ReadPresent(const PastScope& scope, Start& start) {
  bool same_history = true;
  State::ForEachKind([&](auto kind) {
    using Row = typename decltype(kind)::type;
    if (!IsShown(Row::kKind)) return;
    std::string after;
    do {
      std::vector<std::pair<std::string, int64_t>> found;
      same_history = same_history && ReadPiece<Row>(scope, start.at, after, found);
      if (!same_history) return;
      rows_worked_out_ += static_cast<int64_t>(found.size());
      for (auto& [key, revision] : found) {
        if (scope.Has(key)) start.now[std::move(key)] = revision;
      }
      if (!after.empty()) options_.Yield(LanePoint::kNextPiece);
    } while (!after.empty());
  });
  return same_history ? absl::OkStatus() : HistoryLost();
}

template <class State>
template <class Row>
bool LaneChanges<State>::ReadPiece(const PastScope& scope, const Position& at, std::string& after,
                                   std::vector<std::pair<std::string, int64_t>>& found) {
  // In turn: a commit waits for one piece at most.
  ReaderLock lock(memory_.served_mutex(), ReaderLock::kInTurn);
  if (memory_.held_at().incarnation != at.incarnation) return false;
  const Table<Row>& table = memory_.held().template table<Row>();
  // All rows of a kind are of one collection: the first tells it.
  const auto first = table.rows().lower_bound(scope.prefix);
  if (first == table.rows().end() || !scope.Has(first->first)) {
    after.clear();
    return true;
  }
  after = ForSomeUnder(table, scope.prefix, after, kPiece,
                       [&](absl::string_view key, const Versioned<Row>& row) {
                         found.emplace_back(std::string(key), row.revision);
                       });
  return true;
}

template <class State>
auto LaneChanges<State>::Resolve(Transaction& tx, const Moment& then, const Position& seen)
    -> absl::StatusOr<Resolved> {
  const Head head = journal::Peek(tx, 0);
  if (head.incarnation != seen.incarnation) return HistoryLost();
  int64_t revision = std::min({then.revision, head.revision, seen.revision});
  const bool is_empty = head.revision == head.compacted_revision;
  if (then.time != absl::InfiniteFuture() && !(is_empty && then.time >= head.commit_time))
    revision = std::min(revision, journal::RevisionAt(tx, then.time));
  return Resolved{.id = {.incarnation = head.incarnation, .revision = revision},
                  .compacted_revision = head.compacted_revision};
}

template <class State>
absl::StatusOr<std::shared_ptr<const PastList>> LaneChanges<State>::GoBack(Transaction& tx,
                                                                           const Resolved& moment,
                                                                           Revisions now) {
  const int64_t compacted = moment.compacted_revision;
  const int64_t since = std::max(moment.id.revision, compacted);
  // From when on all can be told, by revision and time; nullopt: from `moment` on.
  std::optional<std::pair<int64_t, absl::Time>> oldest;
  if (moment.is_forgotten()) oldest = {compacted, journal::ReachesBackTo(tx)};
  const PastScope& scope = moment.id.scope;
  for (const FirstChange& change : journal::FirstChangesAfter(tx, since, scope.prefix)) {
    ++rows_worked_out_;
    if (!scope.Has(change.key)) continue;
    // Memory was read before the change, and has what was.
    const auto present = now.find(change.key);
    if (present != now.end() && present->second <= since) continue;
    if (change.previous == 0) {
      now.erase(change.key);
    } else if (change.previous > compacted) {
      now[change.key] = *change.previous;
    } else if (!oldest || change.revision > oldest->first) {
      oldest = {change.revision, change.commit_time};
    }
  }
  if (oldest) return Forgotten("these resources", oldest->first, oldest->second);
  return std::make_shared<const PastList>(now);
}

template <class State>
absl::StatusOr<bool> LaneChanges<State>::Fill(Transaction& tx, const PastList& list, size_t from,
                                              size_t to, PastPage& page) const {
  std::vector<Revised<Change>> rows;
  std::vector<int64_t> elsewhere;
  // Between the list and this, memory may have been loaded anew, of a history in which the same
  // revisions are other changes.
  const bool same_history = memory_.PeekAt([&](const State& state, const Position& at) {
    if (at.incarnation != page.incarnation) return false;
    for (size_t i = from; i < to; ++i) {
      auto row = state.FindKey(&IsShown, list.key(i));
      if (row && row->revision == list.revision(i)) {
        rows.push_back(*std::move(row));
      } else {
        elsewhere.push_back(list.revision(i));
      }
    }
    return true;
  });
  if (!same_history) return HistoryLost();
  for (const Revised<Change>& row : rows) {
    page.rows.push_back({row.change.key, std::string(row.change.kind()), row.revision,
                         std::make_shared<const std::string>(store_.Encode(row))});
  }
  std::vector<PastRow> found = journal::ReadRevisions(tx, elsewhere);
  const bool is_whole = found.size() == elsewhere.size();
  for (PastRow& row : found) {
    // Without bytes it is a deletion.
    if (row.bytes != nullptr) page.rows.push_back(std::move(row));
  }
  std::sort(page.rows.begin(), page.rows.end(),
            [](const PastRow& a, const PastRow& b) { return a.key < b.key; });
  return is_whole;
}

}  // namespace muster::storage
