#include "tests/testing/original.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace muster::testing {
namespace {

// Where, besides pg_class, a database keeps what is not a row of a table.
constexpr const char* kCatalogs[] = {
    "pg_attribute",     "pg_attrdef",
    "pg_constraint",    "pg_default_acl",
    "pg_event_trigger", "pg_extension",
    "pg_index",         "pg_namespace WHERE nspname !~ '^pg_(toast_)?temp_'",
    "pg_policy",        "pg_proc",
    "pg_publication",   "pg_rewrite",
    "pg_trigger",       "pg_type"};

// Asks for a text that changes whenever one of these catalogues does: of each, the number of rows
// and the sum of the transactions that wrote them. Of pg_class only the columns that TRUNCATE and
// VACUUM leave alone.
std::string CatalogsSql() {
  std::string sql = R"(
SELECT concat_ws(' ',
  (SELECT concat(count(*), ':', sum(hashtext(ROW(oid, relname, relnamespace, relowner, relkind,
      relpersistence, relhasrules, relrowsecurity, relforcerowsecurity, relacl, reloptions)::text)))
    FROM pg_class),
  (SELECT string_agg(last_value::text, ' ' ORDER BY schemaname, sequencename) FROM pg_sequences),
  (SELECT ROW(datallowconn, datconnlimit, datacl)::text FROM pg_database
    WHERE datname = current_database()),
  (SELECT string_agg(setconfig::text, ' ') FROM pg_db_role_setting
    JOIN pg_database ON pg_database.oid = setdatabase WHERE datname = current_database()))";
  for (const char* catalog : kCatalogs) {
    absl::StrAppend(&sql, ", (SELECT concat(count(*), ':', sum(xmin::text::bigint)) FROM ", catalog,
                    ")");
  }
  return sql + ")";
}

// Tables that take space on the disk, for rows or for what deleted rows left; and whether that is
// more than 4 MB.
constexpr char kWrittenTables[] =
    "SELECT format('%I.%I', nspname, relname), pg_total_relation_size(pg_class.oid) > 4000000"
    " FROM pg_class"
    " JOIN pg_namespace ON pg_namespace.oid = relnamespace"
    " WHERE relkind = 'r' AND nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema'"
    " AND pg_relation_size(pg_class.oid) > 0";

std::string ValueOf(KeptSession& session, const std::string& sql) {
  return session.Run(sql).at(0).at(0).value_or("");
}

std::string RowsOf(KeptSession& session, const std::string& table) {
  return ValueOf(session, absl::StrCat("SELECT json_agg(t)::text FROM ", table, " t"));
}

}  // namespace

Original::Original(KeptSession& session) : catalogs_(ValueOf(session, CatalogsSql())) {
  for (const auto& row : session.Run(kWrittenTables))
    seeded_.push_back({*row[0], RowsOf(session, *row[0])});
}

bool Original::Restore(KeptSession& session) const {
  EndOtherSessions(session);
  if (ValueOf(session, CatalogsSql()) != catalogs_) return false;
  // One transaction, without triggers or foreign keys. DELETE for small tables, because TRUNCATE
  // makes a dozen files.
  std::string sql = "SET LOCAL session_replication_role = replica; ";
  for (const auto& row : session.Run(kWrittenTables)) {
    const bool seeded = absl::c_any_of(seeded_, [&](const Table& t) { return t.name == *row[0]; });
    if (*row[1] == "t") {
      absl::StrAppend(&sql, "TRUNCATE ", *row[0], " CASCADE; ");
    } else if (!seeded) {
      absl::StrAppend(&sql, "DELETE FROM ", *row[0], "; ");
    }
  }
  for (const Table& table : seeded_) {
    absl::StrAppend(&sql, "DELETE FROM ", table.name, "; INSERT INTO ", table.name,
                    " SELECT * FROM json_populate_recordset(NULL::", table.name, ", $rows$",
                    table.rows, "$rows$); ");
  }
  session.Run(sql);
  return true;
}

}  // namespace muster::testing
