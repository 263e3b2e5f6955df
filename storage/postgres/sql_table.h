#pragma once

// Includes libpqxx: for storage/ only.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "storage/postgres/sql_column.h"
#include "storage/postgres/sql_statements.h"
#include "storage/postgres/transaction.h"

// A table described once: from its columns follow all statements, the way of rows into it and the
// way back. To add a column is a line here, a member of the row, and a migration.
namespace muster::storage {

// The statements of a table, prepared under names made of its own, and its columns as text.
class SqlTableText {
 public:
  SqlTableText(std::string name, std::vector<SqlColumnText> columns, const SqlStatements& sql)
      : name_(std::move(name)),
        columns_(std::move(columns)),
        names_{absl::StrCat("put_", name_), absl::StrCat("remove_", name_)},
        sql_(sql) {}

  const std::string& name() const { return name_; }
  const std::vector<SqlColumnText>& columns() const { return columns_; }

  const SqlStatements& sql() const { return sql_; }
  // An array for each column, and for each that is part of the key.
  std::vector<SqlArray> NewArrays() const {
    return ArraysOf([](const auto&) { return true; });
  }
  std::vector<SqlArray> NewKeyArrays() const {
    return ArraysOf([](const SqlColumnText& column) { return column.is_key; });
  }
  // The sites that a FaultHook sees: names of statements, or the text of one without a name.
  std::vector<std::string> statements() const { return {sql_.select, names_[0], names_[1]}; }

  // Calls f(const pqxx::result&) with all rows, some at a time; the next are fetched while f looks
  // at the last. Neither the time of a statement nor the memory grows with the table. To be called
  // once a transaction.
  template <class F>
  void ForEachChunk(Transaction& tx, F f) const {
    constexpr int kFetch = 5'000;
    const std::string cursor = absl::StrCat("all_", name_);
    const std::string fetch = absl::StrCat("FETCH ", kFetch, " FROM ", cursor);
    pqxx::result rows = tx.ExecAs(
        sql_.select,
        absl::StrCat("DECLARE ", cursor, " NO SCROLL CURSOR FOR ", sql_.select, "; ", fetch));
    while (!rows.empty()) {
      std::future<pqxx::result> next;
      if (rows.size() == kFetch)
        next = std::async(std::launch::async, [&] { return tx.ExecAs(cursor, fetch); });
      f(rows);
      rows = next.valid() ? next.get() : pqxx::result();
    }
  }
  void Put(StatementSink& out, absl::Span<const SqlArray> columns) const {
    Send(out, {names_[0].c_str(), sql_.put.c_str()}, columns);
  }
  void Remove(StatementSink& out, absl::Span<const SqlArray> keys) const {
    Send(out, {names_[1].c_str(), sql_.remove.c_str()}, keys);
  }

 private:
  template <class Wanted>
  std::vector<SqlArray> ArraysOf(Wanted wanted) const {
    std::vector<SqlArray> arrays;
    for (const SqlColumnText& column : columns_) {
      if (wanted(column)) arrays.emplace_back(column.type);
    }
    return arrays;
  }

  static void Send(StatementSink& out, const Statement& statement,
                   absl::Span<const SqlArray> arrays) {
    std::vector<SqlParam> params;
    params.reserve(arrays.size());
    for (const SqlArray& array : arrays) params.push_back(array.Param());
    out.Queue(statement, std::move(params));
  }

  std::string name_;
  std::vector<SqlColumnText> columns_;
  std::string names_[2];
  SqlStatements sql_;
};

// A Row from the columns of `row`, the first of those that are read being at `at`.
template <class Row>
Row ReadColumns(const std::vector<SqlColumn<Row>>& columns, const pqxx::row& row, int at) {
  Row read;
  for (const SqlColumn<Row>& column : columns) {
    if (column.read == nullptr) continue;
    column.read(row[at].is_null() ? nullptr : row[at].c_str(), read);
    ++at;
  }
  return read;
}

// --- lists that have a table of their own ---

// The statements that write one kind of list of some rows.
template <class Row>
class ElementsToWrite {
 public:
  virtual ~ElementsToWrite() = default;
  virtual void Add(absl::string_view owner, const Row& row) = 0;
  virtual void Send(StatementSink& out) const = 0;
};

// A table whose rows are the elements of a list in Row. They go with their owner by the foreign key
// (ON DELETE CASCADE).
template <class Row>
class ElementTable {
 public:
  virtual ~ElementTable() = default;
  virtual const SqlTableText& text() const = 0;
  virtual std::unique_ptr<ElementsToWrite<Row>> NewWrite() const = 0;
  // Loads all elements, and returns a function that moves those of `owner` into its row.
  virtual std::function<void(absl::string_view owner, Row& row)> Load(Transaction& tx) const = 0;
};

template <auto List>
class ListTable final : public ElementTable<typename MemberPath<List>::Row> {
 public:
  using Row = typename MemberPath<List>::Row;
  using Element = typename MemberPath<List>::Value::value_type;

  // `owner`: the column with the key of the row that the list is in. `columns` have keys of their
  // own, or `position`: then the place in the list is the key, in a column of that name.
  ListTable(const std::string& name, const char* owner, std::vector<SqlColumn<Element>> columns,
            const char* position = nullptr)
      : columns_(std::move(columns)),
        has_position_(position != nullptr),
        text_(TextOf(name, owner, position, columns_)) {}

  const SqlTableText& text() const override { return text_; }

  std::unique_ptr<ElementsToWrite<Row>> NewWrite() const override {
    return std::make_unique<Write>(*this);
  }

  std::function<void(absl::string_view, Row&)> Load(Transaction& tx) const override {
    auto lists = std::make_shared<std::map<std::string, std::vector<Element>, std::less<>>>();
    text_.ForEachChunk(tx, [&](const pqxx::result& rows) {
      for (const pqxx::row& row : rows)
        (*lists)[row[0].c_str()].push_back(ReadColumns(columns_, row, 1));
    });
    return [lists](absl::string_view owner, Row& row) {
      const auto it = lists->find(owner);
      if (it != lists->end()) row.*List = std::move(it->second);
    };
  }

 private:
  class Write final : public ElementsToWrite<Row> {
   public:
    explicit Write(const ListTable& table) : table_(table), columns_(table.text_.NewArrays()) {}

    void Add(absl::string_view owner, const Row& row) override {
      owners_.Add(owner);
      int64_t position = 0;
      for (const Element& element : row.*List) {
        size_t at = 0;
        columns_[at++].Add(owner);
        if (table_.has_position_) columns_[at++].Add(position++);
        for (const SqlColumn<Element>& column : table_.columns_)
          column.add(element, columns_[at++]);
      }
    }

    void Send(StatementSink& out) const override {
      if (owners_.empty()) return;
      std::vector<SqlArray> kept = {owners_};
      for (size_t i = 0; i < columns_.size(); ++i) {
        if (table_.text_.columns()[i].is_key) kept.push_back(columns_[i]);
      }
      table_.text_.Remove(out, kept);
      if (!columns_[0].empty()) table_.text_.Put(out, columns_);
    }

   private:
    const ListTable& table_;
    SqlArray owners_{"text"};
    std::vector<SqlArray> columns_;
  };

  static SqlTableText TextOf(const std::string& name, const char* owner, const char* position,
                             const std::vector<SqlColumn<Element>>& columns) {
    std::vector<SqlColumnText> texts = {{owner, "text", true}};
    if (position != nullptr) texts.push_back({position, "integer", true, false});
    for (const SqlColumn<Element>& column : columns)
      texts.push_back({column.name, column.type, column.is_key, column.read != nullptr});
    SqlStatements sql = ElementStatements(name, texts);
    return {name, std::move(texts), sql};
  }

  const std::vector<SqlColumn<Element>> columns_;
  const bool has_position_;
  const SqlTableText text_;
};

// --- resources ---

// How a resource's name stands in the key columns.
enum class KeyForm {
  kName,  // `organizations/acme/clusters/c1` in one column
  kId,    // what comes after the first slash, cut at slashes: `machines/g1` in one column
};

// A table of resources. Immutable; one a program.
template <class Row>
class SqlTable {
 public:
  SqlTable(const std::string& name, KeyForm form, std::vector<SqlColumn<Row>> columns,
           std::vector<std::shared_ptr<const ElementTable<Row>>> lists = {})
      : form_(form),
        columns_(std::move(columns)),
        lists_(std::move(lists)),
        text_(TextOf(name, columns_)) {}

  // The same with one column more.
  SqlTable With(SqlColumn<Row> column) const {
    std::vector<SqlColumn<Row>> columns = columns_;
    columns.push_back(std::move(column));
    return SqlTable(text_.name(), form_, std::move(columns), lists_);
  }

  // This table and those of its rows' lists.
  std::vector<const SqlTableText*> texts() const {
    std::vector<const SqlTableText*> texts = {&text_};
    for (const auto& list : lists_) texts.push_back(&list->text());
    return texts;
  }

  // Calls `emit` for every row with its revision, one by one, from another thread: while some are
  // taken in, the next are read. Throws what libpqxx throws, std::runtime_error for what is no row
  // of ours.
  void Load(Transaction& tx, absl::FunctionRef<void(Row, int64_t)> emit) const {
    std::vector<Fill> fill;
    for (const auto& list : lists_) fill.push_back(list->Load(tx));
    std::future<void> taken;
    text_.ForEachChunk(tx, [&](const pqxx::result& rows) {
      std::vector<std::pair<Row, int64_t>> loaded = Read(rows, fill);
      if (taken.valid()) taken.get();
      taken = std::async(std::launch::async, [&emit, loaded = std::move(loaded)]() mutable {
        for (auto& [row, revision] : loaded) emit(std::move(row), revision);
      });
    });
    if (taken.valid()) taken.get();
  }

  // What is to be written: rows to put and keys to remove, each at most once.
  class Write {
   public:
    explicit Write(const SqlTable& table)
        : table_(table), columns_(table.text_.NewArrays()), removed_(table.text_.NewKeyArrays()) {
      for (const auto& list : table.lists_) lists_.push_back(list->NewWrite());
    }

    // `row` null: it is deleted.
    void Add(const std::string& key, const Row* row, int64_t revision) {
      const std::vector<absl::string_view> parts = table_.PartsOf(key);
      if (row == nullptr) {
        for (size_t i = 0; i < parts.size(); ++i) removed_[i].Add(parts[i]);
        return;
      }
      size_t part = 0;
      size_t at = 0;
      for (const SqlColumn<Row>& column : table_.columns_) {
        column.is_key ? columns_[at].Add(parts[part++]) : column.add(*row, columns_[at]);
        ++at;
      }
      columns_[at].Add(revision);
      for (const auto& list : lists_) list->Add(parts[0], *row);
    }

    void Put(StatementSink& out) const {
      if (columns_.back().empty()) return;
      table_.text_.Put(out, columns_);
      for (const auto& list : lists_) list->Send(out);
    }
    void Remove(StatementSink& out) const {
      if (!removed_[0].empty()) table_.text_.Remove(out, removed_);
    }

   private:
    const SqlTable& table_;
    std::vector<SqlArray> columns_;  // the last: revisions
    std::vector<SqlArray> removed_;
    std::vector<std::unique_ptr<ElementsToWrite<Row>>> lists_;
  };

 private:
  // Moves the elements of a list's table that belong to `key` into its row.
  using Fill = std::function<void(absl::string_view key, Row& row)>;

  // The rows of `rows`, with their revisions.
  std::vector<std::pair<Row, int64_t>> Read(const pqxx::result& rows,
                                            const std::vector<Fill>& fill) const {
    std::vector<std::pair<Row, int64_t>> loaded;
    loaded.reserve(rows.size());
    for (const pqxx::row& row : rows) {
      loaded.emplace_back(ReadColumns(columns_, row, 0),
                          SqlValue<int64_t>::Read(row.back().c_str()));
      if (fill.empty()) continue;
      const std::string key = loaded.back().first.Key();
      for (const Fill& into : fill) into(WithoutKind(key), loaded.back().first);
    }
    return loaded;
  }

  static SqlTableText TextOf(const std::string& name, const std::vector<SqlColumn<Row>>& columns) {
    std::vector<SqlColumnText> texts;
    for (const SqlColumn<Row>& column : columns)
      texts.push_back({column.name, column.type, column.is_key, column.read != nullptr});
    texts.push_back({"revision", "bigint"});
    SqlStatements sql = ResourceStatements(name, texts);
    return {name, std::move(texts), sql};
  }

  size_t KeyCount() const {
    size_t keys = 0;
    for (const SqlColumn<Row>& column : columns_) keys += column.is_key ? 1 : 0;
    return keys;
  }

  absl::string_view WithoutKind(absl::string_view key) const {
    return form_ == KeyForm::kName ? key : key.substr(key.find('/') + 1);
  }
  std::vector<absl::string_view> PartsOf(absl::string_view key) const {
    if (KeyCount() == 1) return {WithoutKind(key)};
    return absl::StrSplit(WithoutKind(key), '/');
  }

  const KeyForm form_;
  const std::vector<SqlColumn<Row>> columns_;
  const std::vector<std::shared_ptr<const ElementTable<Row>>> lists_;
  const SqlTableText text_;
};

}  // namespace muster::storage
