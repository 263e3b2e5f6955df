#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"

// The statements of a table, made from the names and types of its columns. Values travel as one
// array a column.
namespace muster::storage {

struct SqlColumnText {
  std::string name = {};
  std::string type = {};
  bool is_key = false;
  bool is_read = true;
};

struct SqlStatements {
  // All rows: the columns that are read, in order.
  std::string select = {};
  // $1, $2, ...: the columns. A row that is there is replaced.
  std::string put = {};
  // $1, $2, ...: the key columns of the rows that go.
  std::string remove = {};
};

// Of a table of resources. At least one key column.
SqlStatements ResourceStatements(const std::string& table, absl::Span<const SqlColumnText> columns);

// Of a table whose rows are the elements of lists; the first column names the owner of the list.
// `select` is in order of the keys; `put` writes only what differs; `remove` takes the owners as $1
// and the key columns of all elements that they have as $2, $3, ..., and deletes their others.
SqlStatements ElementStatements(const std::string& table, absl::Span<const SqlColumnText> columns);

}  // namespace muster::storage
