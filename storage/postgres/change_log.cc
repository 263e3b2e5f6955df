#include "storage/postgres/change_log.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "storage/postgres/commit_authors.h"
#include "storage/postgres/journal_packing.h"
#include "storage/postgres/sql_types.h"
#include "storage/postgres/transaction.h"

namespace muster::storage {
namespace {

// Kinds that begin with `_` are internal to a service, and not shown.
#define MUSTER_SHOWN "left(kind, 1) <> '_'"
// The revision of the next older change: `previous` or, before a creation, the last deletion of
// that name. Only of kinds that are shown, for a kept request may bear any name. `+ 0` leaves but
// the index of deletions to go by: by revisions, all that is older may be read.
#define MUSTER_NEXT                                                                   \
  "CASE WHEN log.previous > 0 THEN log.previous WHEN log.previous = 0 THEN"           \
  " (SELECT max(d.revision + 0) FROM journal d WHERE d.key = $2 AND d.change IS NULL" \
  " AND left(d.kind, 1) <> '_' AND d.revision + 0 < log.revision) END"

constexpr Statement kFindDeletion = {
    "journal_find_deletion",
    "SELECT max(revision + 0) FROM journal WHERE key = $1 AND change IS NULL AND " MUSTER_SHOWN};
// Changes are looked up one by one, which LATERAL with a limit says: a plan for a join may read the
// whole journal for each. The row of authors must be of the change's own batch: a batch that was
// committed by a release that keeps no authors has none.
constexpr Statement kReadChanges = {
    "journal_read_changes",
    "WITH RECURSIVE log AS ("
    " SELECT revision, previous, kind, change, commit_time, batch, 1 AS nth,"
    " length(change)::bigint AS bytes FROM journal"
    " WHERE revision = $1 AND key = $2 AND " MUSTER_SHOWN
    " UNION ALL"
    " SELECT j.revision, j.previous, j.kind, j.change, j.commit_time, j.batch, log.nth + 1,"
    " coalesce(log.bytes, 0) + coalesce(length(j.change), 0) FROM log"
    " CROSS JOIN LATERAL (SELECT * FROM journal WHERE journal.revision = " MUSTER_NEXT
    " LIMIT 1) AS j"
    " WHERE log.nth < $3 AND (log.nth = 1 OR log.bytes < $4))"
    " SELECT revision, previous, kind, change, (extract(epoch FROM commit_time) * 1000000)::bigint,"
    " (SELECT a.last_revision FROM (SELECT last_revision FROM journal_author"
    " WHERE last_revision >= log.revision ORDER BY last_revision LIMIT 1) AS a WHERE log.batch ="
    " (SELECT l.batch FROM journal l WHERE l.revision = a.last_revision))"
    " FROM log ORDER BY revision DESC"};
constexpr Statement kReadAuthors = {"journal_read_authors",
                                    "SELECT authors FROM journal_author WHERE last_revision = $1"};
constexpr Statement kFindChangeAt = {"journal_find_change_at",
                                     "WITH RECURSIVE log AS ("
                                     " SELECT revision, previous, commit_time FROM journal"
                                     " WHERE revision = $1 AND key = $2 AND " MUSTER_SHOWN
                                     " UNION ALL"
                                     " SELECT j.revision, j.previous, j.commit_time FROM log"
                                     " CROSS JOIN LATERAL (SELECT * FROM journal"
                                     " WHERE journal.revision = " MUSTER_NEXT
                                     " LIMIT 1) AS j"
                                     " WHERE (log.revision > $3 OR log.commit_time > $4)"
                                     " AND (log.previous <> 0 OR $5 = 1))"
                                     " SELECT revision FROM log ORDER BY revision LIMIT 1"};
constexpr Statement kReachesBackTo = {
    "journal_reaches_back_to",
    "SELECT (extract(epoch FROM coalesce((SELECT commit_time FROM journal"
    " WHERE revision > (SELECT compacted_revision FROM journal_head) ORDER BY revision LIMIT 1),"
    " (SELECT commit_time FROM journal_head))) * 1000000)::bigint"};

// Revisions have no gaps, and time does not go back with them: the span from `low`, which was
// committed by then, to `high`, which was not, is halved until nothing is between them.
constexpr Statement kRevisionAt = {
    "journal_revision_at",
    "WITH RECURSIVE span AS ("
    " SELECT compacted_revision AS low, revision + 1 AS high FROM journal_head"
    " UNION ALL"
    " SELECT CASE WHEN middle.is_before THEN middle.revision ELSE span.low END,"
    " CASE WHEN middle.is_before THEN span.high ELSE middle.revision END"
    " FROM span CROSS JOIN LATERAL (SELECT revision, commit_time <= $1 AS is_before FROM journal"
    " WHERE journal.revision = (span.low + span.high) / 2 LIMIT 1) AS middle"
    " WHERE span.high - span.low > 1)"
    " SELECT max(span.low) FROM span, journal_head WHERE span.low > compacted_revision"};
constexpr Statement kFirstChangesAfter = {
    "journal_first_changes_after",
    "SELECT DISTINCT ON (key) key, previous, revision,"
    " (extract(epoch FROM commit_time) * 1000000)::bigint FROM journal"
    " WHERE revision > $1 AND starts_with(key, $2) AND " MUSTER_SHOWN " ORDER BY key, revision"};
constexpr Statement kReadRevisions = {"journal_read_revisions",
                                      "SELECT revision, kind, key, change FROM journal"
                                      " WHERE revision = ANY ($1::bigint[])"};

#undef MUSTER_NEXT
#undef MUSTER_SHOWN

std::shared_ptr<const std::string> BytesOf(absl::string_view key, const pqxx::field& field) {
  if (field.is_null()) return nullptr;
  return std::make_shared<const std::string>(Unpack(key, FromSqlBytes(field.c_str())));
}

LoggedChange ToChange(absl::string_view key, const pqxx::row& row) {
  LoggedChange change{.revision = row[0].as<int64_t>(),
                      .commit_time = absl::FromUnixMicros(row[4].as<int64_t>()),
                      .bytes = BytesOf(key, row[3])};
  if (!row[1].is_null()) change.previous = row[1].as<int64_t>();
  return change;
}

// Reads the authors of a batch once, and by a statement of their own: they may be many.
class Authors {
 public:
  explicit Authors(Transaction& tx) : tx_(tx) {}

  Author Find(int64_t row, int64_t revision) {
    if (row != row_) {
      const auto rows = tx_.Exec(kReadAuthors, row);
      encoded_ = rows.empty() ? "" : FromSqlBytes(rows[0][0].c_str());
      row_ = row;
    }
    return CommitAuthors::Find(encoded_, revision);
  }

 private:
  Transaction& tx_;
  int64_t row_ = 0;
  std::string encoded_;
};

}  // namespace

namespace journal {

int64_t FindDeletion(Transaction& tx, absl::string_view key) {
  const auto rows = tx.Exec(kFindDeletion, std::string(key));
  return rows[0][0].is_null() ? 0 : rows[0][0].as<int64_t>();
}

ChangeLog ReadChanges(Transaction& tx, absl::string_view key, int64_t newest, int64_t limit) {
  ChangeLog log;
  Authors authors(tx);
  int64_t bytes = 0;
  // One more, which tells what was before the last.
  const auto rows = tx.Exec(kReadChanges, newest, std::string(key), limit + 1, kMaxLogBytes);
  for (const auto& row : rows) {
    LoggedChange change = ToChange(key, row);
    // The statement counts those of the packed form.
    if (change.bytes != nullptr) bytes += static_cast<int64_t>(change.bytes->size());
    const bool is_full = static_cast<int64_t>(log.changes.size()) == limit || bytes >= kMaxLogBytes;
    if (!log.changes.empty()) {
      LoggedChange& after = log.changes.back();
      // A creation has nothing before it, whatever bore the name then.
      if (after.previous != 0) after.before = change.bytes;
      if (is_full) {
        log.next = change.revision;
        break;
      }
    }
    log.kind = row[2].c_str();
    if (!row[5].is_null()) change.author = authors.Find(row[5].as<int64_t>(), change.revision);
    log.changes.push_back(std::move(change));
  }
  return log;
}

std::optional<int64_t> FindChangeAt(Transaction& tx, absl::string_view key, int64_t newest,
                                    const Moment& then, Lives lives) {
  const auto rows = tx.Exec(kFindChangeAt, newest, std::string(key), then.revision,
                            ToSqlTime(then.time), lives == Lives::kAll ? 1 : 0);
  if (rows.empty()) return std::nullopt;
  return rows[0][0].as<int64_t>();
}

absl::Time ReachesBackTo(Transaction& tx) {
  return absl::FromUnixMicros(tx.Exec(kReachesBackTo)[0][0].as<int64_t>());
}

int64_t RevisionAt(Transaction& tx, absl::Time then) {
  const auto rows = tx.Exec(kRevisionAt, ToSqlTime(then));
  return rows[0][0].is_null() ? 0 : rows[0][0].as<int64_t>();
}

std::vector<FirstChange> FirstChangesAfter(Transaction& tx, int64_t revision,
                                           absl::string_view prefix) {
  std::vector<FirstChange> changes;
  for (const auto& row : tx.Exec(kFirstChangesAfter, revision, std::string(prefix))) {
    changes.push_back({.key = row[0].c_str(),
                       .revision = row[2].as<int64_t>(),
                       .commit_time = absl::FromUnixMicros(row[3].as<int64_t>())});
    if (!row[1].is_null()) changes.back().previous = row[1].as<int64_t>();
  }
  return changes;
}

std::vector<PastRow> ReadRevisions(Transaction& tx, const std::vector<int64_t>& revisions) {
  SqlTextArray wanted;
  for (const int64_t revision : revisions) wanted.Add(revision);
  std::vector<PastRow> found;
  for (const auto& row : tx.Exec(kReadRevisions, wanted.Text())) {
    found.push_back({.key = row[2].c_str(),
                     .kind = row[1].c_str(),
                     .revision = row[0].as<int64_t>(),
                     .bytes = BytesOf(row[2].c_str(), row[3])});
  }
  return found;
}

}  // namespace journal

absl::Status Forgotten(absl::string_view whom, int64_t oldest_revision, absl::Time oldest) {
  const std::string time = absl::FormatTime(absl::RFC3339_full, oldest, absl::UTCTimeZone());
  return error::Make(
      absl::StatusCode::kOutOfRange,
      absl::StrCat("The journal no longer tells of that moment: of ", whom,
                   " it knows what was from revision ", oldest_revision, " on, ", time, "."),
      {.reason = "REVISION_COMPACTED",
       .metadata = {{"oldest_revision", absl::StrCat(oldest_revision)}, {"oldest_time", time}}});
}

}  // namespace muster::storage
