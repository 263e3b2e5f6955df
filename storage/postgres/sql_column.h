#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "storage/postgres/json.h"
#include "storage/postgres/sql_types.h"
#include "storage/postgres/sql_value.h"

// The columns of a table, one line each: its name, and the member of the row that it holds. The
// statements, and the ways from rows to columns and back, are made from this alone.
namespace muster::storage {

template <class Row>
struct SqlColumn {
  std::string name = {};
  std::string type = {};  // as information_schema has it; with [] for an array
  // Appends the row's value.
  std::function<void(const Row& row, SqlArray& out)> add = nullptr;
  // Sets the row's value from what Postgres prints; `text` is null for NULL. Null: never read, it
  // follows from other columns.
  std::function<void(const char* text, Row& row)> read = nullptr;
  bool is_key = false;
};

// A pointer to a member, or a path of them: `&Node::desired, &Desired::phase`.
template <auto First, auto... Rest>
struct MemberPath {
  template <class C, class T>
  static C ClassOf(T C::*);

  using Row = decltype(ClassOf(First));
  using Value = std::decay_t<decltype(((std::declval<Row&>().*First).*....*Rest))>;
  static Value& In(Row& row) { return ((row.*First).*....*Rest); }
  static const Value& In(const Row& row) { return ((row.*First).*....*Rest); }
};

template <auto... Path>
auto Field(const char* name) {
  using At = MemberPath<Path...>;
  using Row = typename At::Row;
  using Value = SqlValue<typename At::Value>;
  return SqlColumn<Row>{
      name, Value::kType, [](const Row& row, SqlArray& out) { Value::Add(At::In(row), out); },
      [](const char* text, Row& row) { At::In(row) = Value::Read(text == nullptr ? "" : text); }};
}

// NULL stands for the value that the member has in a new row.
template <auto... Path>
auto Nullable(const char* name) {
  using At = MemberPath<Path...>;
  using Row = typename At::Row;
  using Value = SqlValue<typename At::Value>;
  return SqlColumn<Row>{name, Value::kType,
                        [](const Row& row, SqlArray& out) {
                          static const Row& fresh = *new Row{};
                          At::In(row) == At::In(fresh) ? out.AddNull()
                                                       : Value::Add(At::In(row), out);
                        },
                        [](const char* text, Row& row) {
                          if (text != nullptr) At::In(row) = Value::Read(text);
                        }};
}

// A std::optional member; NULL stands for nullopt.
template <auto... Path>
auto Optional(const char* name) {
  using At = MemberPath<Path...>;
  using Row = typename At::Row;
  using Value = SqlValue<typename At::Value::value_type>;
  return SqlColumn<Row>{name, Value::kType,
                        [](const Row& row, SqlArray& out) {
                          At::In(row) ? Value::Add(*At::In(row), out) : out.AddNull();
                        },
                        [](const char* text, Row& row) {
                          if (text != nullptr) At::In(row) = Value::Read(text);
                        }};
}

// `column`, but NULL in rows for which `is_null` is true; reading NULL leaves the member as it is.
template <class Row>
SqlColumn<Row> NullIf(std::type_identity_t<std::function<bool(const Row&)>> is_null,
                      SqlColumn<Row> column) {
  return {column.name, column.type,
          [is_null, add = column.add](const Row& row, SqlArray& out) {
            is_null(row) ? out.AddNull() : add(row, out);
          },
          [read = column.read](const char* text, Row& row) {
            if (text != nullptr) read(text, row);
          }};
}

// A key column. In a table of resources it holds the resource's name or a part of it (KeyForm),
// in a table of list elements what tells them apart.
template <auto... Path>
auto Key(const char* name) {
  auto column = Field<Path...>(name);
  column.is_key = true;
  return column;
}
// A key column that no member of the row holds.
template <class Row>
SqlColumn<Row> Key(const char* name) {
  return {name, "text", nullptr, nullptr, true};
}

// A column for people who query by SQL: never read back, as other columns hold the same.
template <class Row>
SqlColumn<Row> Derived(const char* name, const char* type,
                       std::function<void(const Row&, SqlArray&)> add) {
  return {name, type, std::move(add), nullptr, false};
}

// One member of all elements of a list, as an array.
template <auto List, auto Member>
auto Elements(const char* name) {
  using At = MemberPath<List>;
  using Row = typename At::Row;
  using Value = SqlValue<typename MemberPath<Member>::Value>;
  return SqlColumn<Row>{name, absl::StrCat(Value::kType, "[]"),
                        [](const Row& row, SqlArray& out) {
                          SqlTextArray list;
                          for (const auto& element : At::In(row)) Value::Add(element.*Member, list);
                          out.Add(list.Text());
                        },
                        [](const char* text, Row& row) {
                          const std::vector<std::string> values = FromSqlArray(text);
                          auto& list = At::In(row);
                          list.resize(values.size());
                          for (size_t i = 0; i < values.size(); ++i)
                            list[i].*Member = Value::Read(values[i]);
                        }};
}

// A map of texts as two arrays; the keys are to be read first.
template <auto Map>
auto MapKeys(const char* name) {
  using At = MemberPath<Map>;
  using Row = typename At::Row;
  return SqlColumn<Row>{name, "text[]",
                        [](const Row& row, SqlArray& out) {
                          SqlTextArray list;
                          for (const auto& [key, value] : At::In(row)) list.Add(key);
                          out.Add(list.Text());
                        },
                        [](const char* text, Row& row) {
                          for (std::string& key : FromSqlArray(text)) At::In(row)[std::move(key)];
                        }};
}
template <auto Map>
auto MapValues(const char* name) {
  using At = MemberPath<Map>;
  using Row = typename At::Row;
  return SqlColumn<Row>{name, "text[]",
                        [](const Row& row, SqlArray& out) {
                          SqlTextArray list;
                          for (const auto& [key, value] : At::In(row)) list.Add(value);
                          out.Add(list.Text());
                        },
                        [](const char* text, Row& row) {
                          // In the order of the keys, as they were written.
                          auto it = At::In(row).begin();
                          for (std::string& value : FromSqlArray(text)) {
                            if (it == At::In(row).end()) return;
                            (it++)->second = std::move(value);
                          }
                        }};
}

// A list of texts in one field, one a line.
template <auto... Path>
auto Lines(const char* name) {
  using At = MemberPath<Path...>;
  using Row = typename At::Row;
  return SqlColumn<Row>{
      name, "text",
      [](const Row& row, SqlArray& out) { out.Add(absl::StrJoin(At::In(row), "\n")); },
      [](const char* text, Row& row) {
        if (text == nullptr || *text == '\0') return;
        At::In(row) = std::vector<std::string>(absl::StrSplit(text, '\n'));
      }};
}

template <auto... Path>
auto Bytes(const char* name) {
  using At = MemberPath<Path...>;
  using Row = typename At::Row;
  return SqlColumn<Row>{name, "bytea",
                        [](const Row& row, SqlArray& out) { out.AddBytes(At::In(row)); },
                        [](const char* text, Row& row) { At::In(row) = FromSqlBytes(text); }};
}

// A message as jsonb: `of` makes it of a row, `into` takes it back.
template <class Message, class Row>
SqlColumn<Row> Json(const char* name, Message (*of)(const Row&), void (*into)(Message&&, Row&)) {
  return {name, "jsonb", [of](const Row& row, SqlArray& out) { out.Add(ToJson(of(row))); },
          [into](const char* text, Row& row) {
            Message message;
            FromJson(text, message);
            into(std::move(message), row);
          }};
}

}  // namespace muster::storage
