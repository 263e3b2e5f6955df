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

// Of a table whose rows are the elements of lists; the first column says whose. `select` is in
// order of the keys; `put` writes only what differs; `remove` has $1: owners, and $2, $3, ...: the
// key columns of the elements that they have, all others of theirs go.
SqlStatements ElementStatements(const std::string& table, absl::Span<const SqlColumnText> columns);

}  // namespace muster::storage
