#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/testing/test_database.h"

// What a database does to its clients, done at every moment of a history and not once a night.
namespace muster::linearizability {

// From now on a read of the schema's journal head without its lock is answered up to 4 ms later,
// and its answer is out of date for that much longer.
inline void SlowDownTheHead(const testing::TestDatabase& database, const std::string& schema) {
  constexpr char kSql[] =
      "ALTER TABLE $s.journal_head RENAME TO real_head;"
      "CREATE FUNCTION $s.under_way() RETURNS boolean LANGUAGE plpgsql AS $$BEGIN"
      " IF current_query() !~ 'UPDATE' THEN PERFORM pg_sleep(random() * 0.004); END IF;"
      " RETURN true; END$$;"
      "CREATE VIEW $s.journal_head AS SELECT * FROM $s.real_head WHERE $s.under_way();"
      "GRANT SELECT, UPDATE ON $s.journal_head TO muster_$s";
  database.Execute(absl::StrReplaceAll(kSql, {{"$s", schema}}));
}

// Forgets the schema's journal but for its last `keep` changes, as the compactor does, and keeps
// what was forgotten where only WholeJournal looks.
inline void CompactJournal(const testing::TestDatabase& database, const std::string& schema,
                           int keep) {
  constexpr char kSql[] =
      "UPDATE $s.journal_head SET compacted_revision = GREATEST(compacted_revision, revision - $k);"
      "WITH forgotten AS (DELETE FROM $s.journal WHERE revision <="
      " (SELECT compacted_revision FROM $s.journal_head) RETURNING *)"
      " INSERT INTO $s.forgotten_journal SELECT * FROM forgotten";
  database.Execute(absl::StrReplaceAll(kSql, {{"$s", schema}, {"$k", absl::StrCat(keep)}}));
}

// To be called before the first CompactJournal.
inline void PrepareToCompact(const testing::TestDatabase& database, const std::string& schema) {
  database.Execute(
      absl::StrCat("CREATE TABLE ", schema, ".forgotten_journal (LIKE ", schema, ".journal)"));
}

// The journal with what was forgotten, for a FROM clause.
inline std::string WholeJournal(const testing::TestDatabase& database, const std::string& schema) {
  const std::string kept = absl::StrCat(schema, ".journal");
  const std::string forgotten = absl::StrCat(schema, ".forgotten_journal");
  const bool compacted =
      database.QueryValue(absl::StrCat("SELECT to_regclass('", forgotten, "') IS NOT NULL")) == "t";
  if (!compacted) return kept;
  return absl::StrCat("(SELECT * FROM ", kept, " UNION ALL SELECT * FROM ", forgotten, ") AS j");
}

}  // namespace muster::linearizability
