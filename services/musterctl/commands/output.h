#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/print/objects.h"
#include "services/musterctl/print/table.h"
#include "services/musterctl/query/columns.h"
#include "services/musterctl/query/json_path.h"
#include "services/musterctl/query/selectors.h"

// How resources are chosen and printed: what -o, -l, --field-selector and --sort-by say.
namespace muster::musterctl {

struct Format {
  enum class Type { kTable, kWide, kJson, kYaml, kName, kJsonPath, kColumns };
  Type type = Type::kTable;
  JsonPathTemplate path = {};
  std::vector<Column> columns = {};

  // Rows that can be printed as they come; of the others all of a list is one text.
  bool is_rows() const {
    return type == Type::kTable || type == Type::kWide || type == Type::kName ||
           type == Type::kColumns;
  }
};
// Wrong use, naming what is allowed.
absl::StatusOr<Format> ParseFormat(const std::string& text);

// What -l and --field-selector let through.
class Selection {
 public:
  // Wrong use: also where resources of the kind have no labels.
  static absl::StatusOr<Selection> Read(const CommandLine& line, absl::Span<const Kind> kinds);

  bool is_all() const { return !labels_ && !fields_; }
  // What the server may sift by, so that less comes; empty: nothing. Fits has the last word.
  std::string ServerFilter(Kind kind) const;
  bool Fits(const Item& item) const;
  void Filter(std::vector<Item>& items) const;
  // A field that is looked for and that none of these has; empty: none.
  std::string UnknownField(const std::vector<Item>& items) const;

 private:
  std::optional<LabelSelector> labels_;
  std::optional<FieldSelector> fields_;
};

// How a table looks where this goes: on a terminal as wide as that is, and in colour unless NO_COLOR is set.
TableStyle StyleFor(const World& world, bool headers, bool fit);

// Prints a whole table as `get` prints its own. `wide`: as wide as it is.
void PrintTable(std::vector<std::string> headers, const std::vector<std::vector<std::string>>& rows,
                bool wide, Session& session);
// Whether --output of a command that knows no other says `wide`.
absl::StatusOr<bool> ReadWide(const CommandLine& line);

// Says of what is in a cluster in which one: so it is applied there, whatever place the line names.
void AddPlace(const std::string& name, nlohmann::json& object);

// Prints resources of one kind, one batch after the other.
class Printer {
 public:
  Printer(Kind kind, const Format& format, Session& session);

  void Print(const std::vector<Item>& items);
  // Says of one that was printed that it is gone, of several cells in which; beside what programs read, not in it.
  void PrintDeleted(const std::string& name, const std::string& cell);

 private:
  std::vector<std::string> RowOf(const Item& item) const;
  void PrintName(const std::string& label);

  const Kind kind_;
  const Format& format_;
  Session& session_;
  const bool everywhere_;  // with the columns that say where
  const bool of_cells_;    // and which cell
  const bool labels_;      // with the labels
  const TableStyle style_;
  TablePrinter table_;
  int documents_ = 0;
  const bool once_;              // of a list of several cells: what all have is named once
  std::set<std::string> named_;  // so far
};

// All of one or several kinds, in one text where the format has one. `is_list`: also one alone is a list.
absl::Status PrintAll(const std::vector<Item>& items, const Format& format, bool is_list,
                      Session& session);

}  // namespace muster::musterctl
