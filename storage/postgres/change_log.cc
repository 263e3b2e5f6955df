#include "storage/postgres/change_log.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "storage/postgres/commit_authors.h"
#include "storage/postgres/sql_types.h"
#include "storage/postgres/transaction.h"

namespace muster::storage {
namespace {

// What services keep for themselves is of kinds with a `_` in front.
constexpr Statement kFindLastChange = {
    "journal_find_last_change",
    "SELECT revision FROM journal WHERE key = $1 AND left(kind, 1) <> '_'"
    " ORDER BY revision DESC LIMIT 1"};
// Both follow `previous` by the journal's primary key alone.
constexpr Statement kReadChanges = {
    "journal_read_changes",
    "WITH RECURSIVE log AS ("
    " SELECT revision, previous, kind, change, commit_time, 1 AS nth FROM journal"
    " WHERE revision = $1 AND key = $2 AND left(kind, 1) <> '_'"
    " UNION ALL"
    " SELECT j.revision, j.previous, j.kind, j.change, j.commit_time, log.nth + 1 FROM log"
    " JOIN journal j ON j.revision = log.previous WHERE log.nth < $3)"
    " SELECT revision, previous, kind, change, (extract(epoch FROM commit_time) * 1000000)::bigint,"
    " (SELECT a.authors FROM journal_author a WHERE a.last_revision >= log.revision"
    " ORDER BY a.last_revision LIMIT 1)"
    " FROM log ORDER BY revision DESC"};
constexpr Statement kFindChangeAt = {"journal_find_change_at",
                                     "WITH RECURSIVE log AS ("
                                     " SELECT revision, previous, commit_time FROM journal"
                                     " WHERE revision = $1 AND key = $2 AND left(kind, 1) <> '_'"
                                     " UNION ALL"
                                     " SELECT j.revision, j.previous, j.commit_time FROM log"
                                     " JOIN journal j ON j.revision = log.previous"
                                     " WHERE log.revision > $3 OR log.commit_time > $4)"
                                     " SELECT revision FROM log ORDER BY revision LIMIT 1"};
constexpr Statement kReachesBackTo = {
    "journal_reaches_back_to",
    "SELECT (extract(epoch FROM coalesce((SELECT commit_time FROM journal ORDER BY revision LIMIT "
    "1),"
    " (SELECT commit_time FROM journal_head))) * 1000000)::bigint"};

constexpr Statement kLastOlderThan = {
    "journal_last_older_than",
    "SELECT coalesce(max(revision), $1::bigint) FROM (SELECT revision, commit_time FROM journal"
    " WHERE revision > $1::bigint ORDER BY revision LIMIT $2) AS next"
    " WHERE commit_time < clock_timestamp() - make_interval(secs => $3)"};

std::shared_ptr<const std::string> BytesOf(const pqxx::field& field) {
  if (field.is_null()) return nullptr;
  return std::make_shared<const std::string>(FromSqlBytes(field.c_str()));
}

LoggedChange ToChange(const pqxx::row& row) {
  LoggedChange change{.revision = row[0].as<int64_t>(),
                      .commit_time = absl::FromUnixMicros(row[4].as<int64_t>()),
                      .bytes = BytesOf(row[3])};
  if (!row[1].is_null()) change.previous = row[1].as<int64_t>();
  if (!row[5].is_null())
    change.author = CommitAuthors::Find(FromSqlBytes(row[5].c_str()), change.revision);
  return change;
}

}  // namespace

namespace journal {

int64_t FindLastChange(Transaction& tx, absl::string_view key) {
  const auto rows = tx.Exec(kFindLastChange, std::string(key));
  return rows.empty() ? 0 : rows[0][0].as<int64_t>();
}

ChangeLog ReadChanges(Transaction& tx, absl::string_view key, int64_t newest, int64_t limit) {
  ChangeLog log;
  // One more, which tells what was before the last.
  for (const auto& row : tx.Exec(kReadChanges, newest, std::string(key), limit + 1)) {
    LoggedChange change = ToChange(row);
    if (!log.changes.empty()) log.changes.back().before = change.bytes;
    if (static_cast<int64_t>(log.changes.size()) == limit) {
      log.next = change.revision;
      break;
    }
    log.kind = row[2].c_str();
    log.changes.push_back(std::move(change));
  }
  return log;
}

std::optional<int64_t> FindChangeAt(Transaction& tx, absl::string_view key, int64_t newest,
                                    const Moment& then) {
  const auto rows =
      tx.Exec(kFindChangeAt, newest, std::string(key), then.revision, ToSqlTime(then.time));
  if (rows.empty()) return std::nullopt;
  return rows[0][0].as<int64_t>();
}

absl::Time ReachesBackTo(Transaction& tx) {
  return absl::FromUnixMicros(tx.Exec(kReachesBackTo)[0][0].as<int64_t>());
}

int64_t LastOlderThan(Transaction& tx, int64_t after, int64_t limit, absl::Duration age) {
  const std::string seconds = absl::StrCat(absl::ToDoubleSeconds(age));
  return tx.Exec(kLastOlderThan, after, limit, seconds)[0][0].as<int64_t>();
}

}  // namespace journal

absl::Status Forgotten(int64_t oldest_revision, absl::Time oldest) {
  return error::Make(
      absl::StatusCode::kOutOfRange,
      absl::StrCat(
          "The journal no longer tells of that moment: of this resource it knows what was from "
          "revision ",
          oldest_revision, " on, ",
          absl::FormatTime(absl::RFC3339_sec, oldest, absl::UTCTimeZone()), "."),
      {.reason = "REVISION_COMPACTED"});
}

}  // namespace muster::storage
