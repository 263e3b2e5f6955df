#include "storage/postgres/journal.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "storage/postgres/sql_types.h"
#include "storage/postgres/transaction.h"

namespace muster::storage::journal {
namespace {

constexpr char kLock[] = "SELECT 1 FROM journal_head FOR UPDATE";
// The least that a COMMIT waits for: a record that nobody reads.
constexpr char kProve[] = "SELECT pg_logical_emit_message(true, 'muster', '')";
constexpr Statement kPeek = {"journal_peek",
                             "SELECT revision, batch, compacted_revision, incarnation,"
                             " (extract(epoch FROM commit_time) * 1000000)::bigint,"
                             " (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,"
                             " (SELECT j.batch FROM journal j WHERE j.revision = $1),"
                             " current_setting('synchronous_standby_names') <> ''"
                             " FROM journal_head"};
constexpr Statement kRead = {"journal_read",
                             "SELECT revision, kind, key, change, batch FROM journal"
                             " WHERE revision > $1 AND revision <= $2 ORDER BY revision LIMIT $3"};
// Both divide by zero if the head is not where it is expected: only an error stops the statements
// that travel behind. No other statement divides by zero (kHeadIsElsewhere).
constexpr Statement kExpect = {
    "journal_expect",
    "WITH there AS (SELECT 1 FROM journal_head"
    " WHERE revision = $1 AND batch = $2 AND incarnation = $3 FOR UPDATE)"
    " SELECT 1 / count(*) FROM there"};
constexpr Statement kMove = {"journal_move",
                             "WITH moved AS (UPDATE journal_head"
                             " SET revision = $4, batch = $5, commit_time = $6"
                             " WHERE revision = $1 AND batch = $2 AND incarnation = $3"
                             " AND commit_time <= $6 RETURNING 1)"
                             " SELECT 1 / count(*) FROM moved"};
constexpr Statement kAppend = {
    "journal_append",
    "WITH whose AS (INSERT INTO journal_author (last_revision, authors) VALUES ($7, $8))"
    " INSERT INTO journal (revision, batch, kind, key, change, previous, commit_time)"
    " SELECT c.revision, $1, c.kind, c.key, c.change, c.previous, $9::timestamptz"
    " FROM unnest($2::bigint[], $3::text[], $4::text[], $5::bytea[], $6::bigint[])"
    " AS c (revision, kind, key, change, previous)"};
constexpr char kRename[] =
    "UPDATE journal_head SET incarnation = replace(gen_random_uuid()::text, '-', '')";
constexpr Statement kCompactHead = {"journal_compact_head",
                                    "UPDATE journal_head SET compacted_revision = $1 WHERE "
                                    "compacted_revision < $1 AND revision >= $1"};
constexpr Statement kCompact = {
    "journal_compact",
    "WITH chunk AS (SELECT least(compacted_revision,"
    " (SELECT min(revision) FROM journal) + $1::bigint - 1) AS upto FROM journal_head),"
    " whose AS (DELETE FROM journal_author"
    " WHERE last_revision <= (SELECT upto FROM chunk))"
    " DELETE FROM journal WHERE revision <= (SELECT upto FROM chunk)"};
// A batch that is half sent: its session waits for the rest, which no timeout of Postgres' own
// ends.
constexpr Statement kEndStalled = {
    "journal_end_stalled",
    "SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a WHERE a.pid IN"
    " (SELECT pid FROM pg_locks WHERE relation = 'journal_head'::regclass AND granted"
    " AND mode IN ('RowShareLock', 'RowExclusiveLock'))"
    " AND a.datname = current_database() AND a.usename = session_user AND a.pid <> pg_backend_pid()"
    " AND a.backend_xid IS NOT NULL AND a.wait_event = 'ClientRead'"
    " AND a.state_change < clock_timestamp() - make_interval(secs => $1::float8)"};
constexpr Statement kNotify = {"journal_notify", "SELECT pg_notify($1, $2)"};

Head ToHead(const pqxx::row& row) {
  Head head{row[0].as<int64_t>(),
            row[1].as<std::string>(),
            row[2].as<int64_t>(),
            row[3].as<std::string>(),
            absl::FromUnixMicros(row[4].as<int64_t>()),
            absl::FromUnixMicros(row[5].as<int64_t>())};
  if (!row[6].is_null()) head.known_batch = row[6].as<std::string>();
  head.waits_for_standby = row[7].as<bool>();
  return head;
}

// Reads the head by a statement of its own, after `first`: a statement that waits for a lock sees
// what was there before it waited.
Head PeekAfter(Transaction& tx, const char* first, int64_t known) {
  const std::string peek = absl::StrReplaceAll(kPeek.sql, {{"$1", absl::StrCat(known)}});
  return ToHead(tx.ExecAs(first, absl::StrCat(first, "; ", peek))[0]);
}

}  // namespace

Head Lock(Transaction& tx, int64_t known) { return PeekAfter(tx, kLock, known); }

Head Peek(Transaction& tx, int64_t known) { return ToHead(tx.Exec(kPeek, known)[0]); }

Head Prove(Transaction& tx, int64_t known) {
  tx.ChangesNothing();
  return PeekAfter(tx, kProve, known);
}

std::vector<JournalRow> Read(Transaction& tx, int64_t after, int64_t upto, int64_t limit) {
  std::vector<JournalRow> rows;
  for (const auto& row : tx.Exec(kRead, after, upto, limit)) {
    JournalRow change{row[0].as<int64_t>(), row[1].c_str(), row[2].c_str()};
    if (!row[3].is_null()) {
      change.bytes =
          std::make_shared<const std::string>(Unpack(change.key, FromSqlBytes(row[3].c_str())));
    }
    change.batch = row[4].c_str();
    rows.push_back(std::move(change));
  }
  return rows;
}

void Expect(StatementSink& out, const Position& at) {
  out.Queue(kExpect, {at.revision, at.batch, at.incarnation});
}

void Say(Transaction& tx, StatementList& statements) { statements.MoveTo(tx); }

void ChangesNothing(Transaction& tx) { tx.ChangesNothing(); }

void Move(StatementSink& out, const Position& from, int64_t revision, absl::string_view batch,
          absl::Time commit_time) {
  out.Queue(kMove,
            {from.revision, from.batch, from.incarnation, revision, batch, ToSqlTime(commit_time)});
}

void Append(StatementSink& out, absl::Span<const JournalRow> rows, absl::string_view batch,
            absl::string_view authors, absl::Time commit_time, JournalPacking packing) {
  SqlArray revisions("bigint"), kinds("text"), keys("text"), changes("bytea"), previous("bigint");
  for (const JournalRow& row : rows) {
    revisions.Add(row.revision);
    kinds.Add(row.kind);
    keys.Add(row.key);
    previous.Add(row.previous);
    if (row.bytes == nullptr) {
      changes.AddNull();
    } else {
      changes.AddBytes(packing == JournalPacking::kZstd ? Pack(row.key, *row.bytes) : *row.bytes);
    }
  }
  out.Queue(kAppend, {batch, revisions.Param(), kinds.Param(), keys.Param(), changes.Param(),
                      previous.Param(), rows.back().revision, SqlParam(std::string(authors), true),
                      ToSqlTime(commit_time)});
}

int EndStalled(Transaction& tx, absl::Duration age) {
  const auto ended = tx.ExecAsLogin(kEndStalled, absl::StrCat(absl::ToDoubleSeconds(age)));
  return static_cast<int>(ended.size());
}

void Rename(Transaction& tx) { tx.Exec(kRename); }

void MoveCompacted(Transaction& tx, int64_t revision) { tx.Exec(kCompactHead, revision); }

int64_t DeleteCompacted(Transaction& tx, int64_t limit) {
  return static_cast<int64_t>(tx.Exec(kCompact, limit).affected_rows());
}

void Notify(Transaction& tx, absl::string_view channel, int64_t revision) {
  tx.Exec(kNotify, std::string(channel), absl::StrCat(revision));
}

void SetIdleTimeout(Transaction& tx, absl::Duration timeout) {
  tx.Exec(absl::StrCat("SET LOCAL idle_in_transaction_session_timeout = ",
                       absl::ToInt64Milliseconds(timeout)));
}

}  // namespace muster::storage::journal
