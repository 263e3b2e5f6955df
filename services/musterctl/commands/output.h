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

  // Whether rows can be printed as they arrive; in the other formats a whole list is one text.
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
  // A filter for the server, so that fewer resources come; empty: none. Fits still decides.
  std::string ServerFilter(Kind kind) const;
  bool Fits(const Item& item) const;
  void Filter(std::vector<Item>& items) const;
  // The fields that --field-selector names; DropKnown takes those out that some item has.
  std::set<std::string> Fields() const;
  void DropKnown(const std::vector<Item>& items, std::set<std::string>& fields) const;

 private:
  std::optional<LabelSelector> labels_;
  std::optional<FieldSelector> fields_;
};

// The style of a table: on a terminal no wider than the terminal (if `fit`), and in colour unless
// NO_COLOR is set.
TableStyle StyleFor(const ProcessEnv& env, bool headers, bool fit);

// Prints a whole table in the style of `get`. `wide`: never cut to the terminal.
void PrintTable(std::vector<std::string> headers, const std::vector<std::vector<std::string>>& rows,
                bool wide, Session& session);
// Whether --output is `wide`, for commands that know no other format.
absl::StatusOr<bool> ReadWide(const CommandLine& line);

// Adds organization and cluster to the metadata of an object that is in a cluster, so that `apply`
// puts it there, whatever its context and environment say.
void AddPlace(const std::string& name, nlohmann::json& object);
// As -o json prints it, with that.
nlohmann::json ShownObject(const Item& item);

// Prints resources of one kind, one batch after the other. `as_of`: the moment from which ages
// count; nullopt: now.
class Printer {
 public:
  Printer(Kind kind, const Format& format, Session& session,
          std::optional<absl::Time> as_of = std::nullopt);

  void Print(const std::vector<Item>& items);
  // Reports that a printed resource is gone; with several cells, from which. Not in output for
  // programs, but beside it.
  void PrintDeleted(const std::string& name, const std::string& cell);

 private:
  std::vector<std::string> RowOf(const Item& item) const;
  void PrintName(const std::string& label);

  const Kind kind_;
  const Format& format_;
  Session& session_;
  const std::optional<absl::Time> as_of_;
  const bool everywhere_;  // with columns ORGANIZATION and CLUSTER
  const bool of_cells_;    // with a column CELL
  const bool labels_;      // with a column LABELS
  const TableStyle style_;
  TablePrinter table_;
  int documents_ = 0;
  const bool once_;              // print a name that several cells have only once
  std::set<std::string> named_;  // names printed so far
};

// Prints resources of one or several kinds, as one text if the format has one. `is_list`: a single
// resource is a list, too. `as_of`: as Printer has it.
absl::Status PrintAll(const std::vector<Item>& items, const Format& format, bool is_list,
                      Session& session, std::optional<absl::Time> as_of = std::nullopt);

}  // namespace muster::musterctl
