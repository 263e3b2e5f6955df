#include "storage/postgres/sql_statements.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::storage {
namespace {

using Columns = absl::Span<const SqlColumnText>;

std::vector<std::string> KeysOf(Columns columns) {
  std::vector<std::string> keys;
  for (const SqlColumnText& column : columns) {
    if (column.is_key) keys.push_back(column.name);
  }
  return keys;
}

std::vector<std::string> NamesOf(Columns columns) {
  std::vector<std::string> names;
  for (const SqlColumnText& column : columns) names.push_back(column.name);
  return names;
}

// What the columns are called in `put`, `prefix` before each.
std::string List(const std::vector<std::string>& names, const std::string& prefix = "") {
  return absl::StrJoin(names, ", ", [&](std::string* out, const std::string& name) {
    absl::StrAppend(out, prefix, name);
  });
}

bool IsArray(const SqlColumnText& column) { return absl::EndsWith(column.type, "[]"); }

// `unnest($1::text[], $2::bigint[])`. It takes arrays of arrays apart to the last element: an array
// column travels as text.
std::string Unnest(Columns columns, int first = 1) {
  std::string arrays;
  for (const SqlColumnText& column : columns) {
    absl::StrAppend(&arrays, arrays.empty() ? "" : ", ", "$", first++,
                    "::", IsArray(column) ? "text" : column.type, "[]");
  }
  return absl::StrCat("unnest(", arrays, ")");
}

std::string Select(const std::string& table, Columns columns) {
  std::vector<std::string> read;
  for (const SqlColumnText& column : columns) {
    if (column.is_read) read.push_back(column.name);
  }
  return absl::StrCat("SELECT ", List(read), " FROM ", table);
}

std::string Put(const std::string& table, Columns columns) {
  const std::string names = List(NamesOf(columns));
  std::string values;
  std::string sets;
  for (const SqlColumnText& column : columns) {
    absl::StrAppend(&values, values.empty() ? "" : ", ", column.name);
    if (IsArray(column)) absl::StrAppend(&values, "::", column.type);
    if (column.is_key) continue;
    absl::StrAppend(&sets, sets.empty() ? "" : ", ", column.name, " = excluded.", column.name);
  }
  return absl::StrCat("INSERT INTO ", table, " AS had (", names, ") SELECT ", values, " FROM ",
                      Unnest(columns), " AS put (", names, ") ON CONFLICT (", List(KeysOf(columns)),
                      ") DO UPDATE SET ", sets);
}

std::vector<SqlColumnText> OnlyKeys(Columns columns) {
  std::vector<SqlColumnText> keys;
  for (const SqlColumnText& column : columns) {
    if (column.is_key) keys.push_back(column);
  }
  return keys;
}

// The rows with the keys of the arrays from $1 on. The first column by `= ANY`, which an index
// answers under any plan: IN is a join, and a plan for one that was made while the table was small
// reads it whole for as long as the plan is kept.
std::string WithKeys(Columns keys) {
  std::string with = absl::StrCat(keys[0].name, " = ANY ($1::", keys[0].type, "[])");
  if (keys.size() > 1) {
    absl::StrAppend(&with, " AND (", List(NamesOf(keys)), ") IN (SELECT * FROM ", Unnest(keys),
                    ")");
  }
  return with;
}

}  // namespace

SqlStatements ResourceStatements(const std::string& table, Columns columns) {
  return {Select(table, columns), Put(table, columns),
          absl::StrCat("DELETE FROM ", table, " WHERE ", WithKeys(OnlyKeys(columns)))};
}

SqlStatements ElementStatements(const std::string& table, Columns columns) {
  const std::vector<std::string> keys = KeysOf(columns);
  const std::vector<SqlColumnText> kept = OnlyKeys(columns);
  std::vector<std::string> values;
  for (const SqlColumnText& column : columns) {
    if (!column.is_key) values.push_back(column.name);
  }
  return {absl::StrCat(Select(table, columns), " ORDER BY ", List(keys)),
          absl::StrCat(Put(table, columns), " WHERE (", List(values, "had."),
                       ") IS DISTINCT FROM (", List(values, "excluded."), ")"),
          absl::StrCat("DELETE FROM ", table, " WHERE ", WithKeys(Columns(kept).first(1)), " AND (",
                       List(keys), ") NOT IN (SELECT * FROM ", Unnest(kept, 2), ")")};
}

}  // namespace muster::storage
