#include "services/musterctl/commands/output.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "services/common/status_macros.h"
#include "services/musterctl/commands/references.h"
#include "services/musterctl/print/objects.h"

namespace muster::musterctl {
namespace {

using Type = Format::Type;

constexpr size_t kLongestFilter = 1024;  // that a server takes

// Null where a kind has none.
nlohmann::json LabelsOf(const Item& item) {
  const nlohmann::json object = ToObject(item);
  const char* path = KindOf(item) == Kind::kNode       ? "/metadata/labels"
                     : KindOf(item) == Kind::kNodePool ? "/spec/nodeLabels"
                                                       : "/spec/labels";
  const nlohmann::json::json_pointer pointer(path);
  return object.contains(pointer) ? object.at(pointer) : nlohmann::json();
}

// Where the API has them, empty where a kind has none.
absl::string_view LabelsPath(Kind kind) {
  if (kind == Kind::kNode) return "desired.labels";
  if (kind == Kind::kNodePool) return "spec.node_labels";
  return kind == Kind::kMachine ? "labels" : "";
}

std::string LabelText(const Item& item) {
  const nlohmann::json labels = LabelsOf(item);
  std::vector<std::string> words;
  for (const auto& [key, value] : labels.items())
    words.push_back(absl::StrCat(key, "=", PathText(value)));
  return words.empty() ? "<none>" : absl::StrJoin(words, ",");
}

// ORGANIZATION and CLUSTER, as far as they are part of the name.
std::vector<std::string> PlaceOf(const std::string& name) {
  const std::vector<std::string> parts = absl::StrSplit(name, '/');
  std::vector<std::string> place;
  if (parts.size() > 3 && parts[0] == "organizations") place.push_back(parts[1]);
  if (parts.size() > 5 && parts[2] == "clusters") place.push_back(parts[3]);
  return place;
}

std::vector<std::string> PlaceHeaders(Kind kind) {
  if (kind <= Kind::kEvent) return {"ORGANIZATION", "CLUSTER"};
  if (kind <= Kind::kQuota) return {"ORGANIZATION"};
  return {};
}

std::vector<std::string> HeadersOf(Kind kind, const Format& format, const Session& session) {
  std::vector<std::string> headers;
  if (format.type == Type::kColumns) {
    for (const Column& column : format.columns) headers.push_back(column.header);
    return headers;
  }
  if (session.of_cells) headers.emplace_back("CELL");
  if (session.line.Has("all-clusters"))
    absl::c_move(PlaceHeaders(kind), std::back_inserter(headers));
  absl::c_move(Headers(kind, format.type == Type::kWide), std::back_inserter(headers));
  if (session.line.Has("show-labels")) headers.emplace_back("LABELS");
  return headers;
}

// Cells are printable as tables have them; what is beside them is meant for the terminal.
std::ostream& StreamFor(const ProcessEnv& env, const TableStyle& style) {
  return style.colour ? *env.screen : env.out;
}

}  // namespace

void AddPlace(const std::string& name, nlohmann::json& object) {
  const std::vector<std::string> place = PlaceOf(name);
  if (place.size() < 2) return;
  object["metadata"]["organization"] = place[0];
  object["metadata"]["cluster"] = place[1];
}

nlohmann::json ShownObject(const Item& item) {
  nlohmann::json object = ToObject(item);
  AddPlace(NameOf(item), object);
  return object;
}

absl::StatusOr<Format> ParseFormat(const std::string& text) {
  constexpr std::pair<absl::string_view, Type> kWords[] = {{"", Type::kTable},
                                                           {"wide", Type::kWide},
                                                           {"json", Type::kJson},
                                                           {"yaml", Type::kYaml},
                                                           {"name", Type::kName}};
  for (const auto& [word, type] : kWords) {
    if (text == word) return Format{.type = type};
  }
  absl::string_view rest = text;
  Format format;
  absl::Status bad;
  if (absl::ConsumePrefix(&rest, "jsonpath=")) {
    format.type = Type::kJsonPath;
    auto path = JsonPathTemplate::Parse(rest);
    bad = path.status();
    if (path.ok()) format.path = *std::move(path);
  } else if (absl::ConsumePrefix(&rest, "custom-columns=")) {
    format.type = Type::kColumns;
    auto columns = ParseColumns(rest);
    bad = columns.status();
    if (columns.ok()) format.columns = *std::move(columns);
  } else {
    bad = absl::InvalidArgumentError(
        absl::StrCat("must be wide, json, yaml or name, jsonpath=TEMPLATE or "
                     "custom-columns=HEADER:PATH,..., is \"",
                     text, "\""));
  }
  if (!bad.ok()) return WrongUse(absl::StrCat("--output: ", bad.message()));
  return format;
}

absl::StatusOr<Selection> Selection::Read(const CommandLine& line, absl::Span<const Kind> kinds) {
  Selection selection;
  if (line.Has("selector")) {
    for (const Kind kind : kinds) {
      if (LabelsPath(kind).empty()) {
        return WrongUse(absl::StrCat("--selector: ", KindPlural(kind),
                                     " have no labels; nodepools, nodes and machines have"));
      }
    }
    auto labels = LabelSelector::Parse(line.Get("selector"));
    if (!labels.ok()) return WrongUse(absl::StrCat("--selector: ", labels.status().message()));
    selection.labels_ = *std::move(labels);
  }
  if (line.Has("field-selector")) {
    auto fields = FieldSelector::Parse(line.Get("field-selector"));
    if (!fields.ok())
      return WrongUse(absl::StrCat("--field-selector: ", fields.status().message()));
    selection.fields_ = *std::move(fields);
  }
  return selection;
}

std::string Selection::ServerFilter(Kind kind) const {
  // A field that none has is told of where all are seen.
  if (!labels_ || fields_) return "";
  std::string filter = labels_->Filter(LabelsPath(kind));
  return filter.size() <= kLongestFilter ? filter : "";
}

bool Selection::Fits(const Item& item) const {
  if (labels_ && !labels_->Matches(LabelsOf(item))) return false;
  return !fields_ || fields_->Matches(ShownObject(item));
}

void Selection::Filter(std::vector<Item>& items) const {
  if (is_all()) return;
  std::erase_if(items, [this](const Item& item) { return !Fits(item); });
}

std::set<std::string> Selection::Fields() const {
  return fields_ ? fields_->Paths() : std::set<std::string>();
}

void Selection::DropKnown(const std::vector<Item>& items, std::set<std::string>& fields) const {
  if (fields.empty()) return;
  std::vector<nlohmann::json> objects;
  for (const Item& item : items) objects.push_back(ShownObject(item));
  fields_->DropKnown(objects, fields);
}

TableStyle StyleFor(const ProcessEnv& env, bool headers, bool fit) {
  TableStyle style{.headers = headers};
  if (env.terminal == nullptr) return style;
  if (fit) style.width = env.terminal->size().width;
  const bool is_dumb = env.environment && env.environment("TERM") == "dumb";
  const bool no_colour = env.environment && !env.environment("NO_COLOR").value_or("").empty();
  style.colour = !is_dumb && !no_colour && env.screen != nullptr;
  return style;
}

void PrintTable(std::vector<std::string> headers, const std::vector<std::vector<std::string>>& rows,
                bool wide, Session& session) {
  const TableStyle style = StyleFor(session.env, !session.line.Has("no-headers"), !wide);
  StreamFor(session.env, style) << TablePrinter(std::move(headers), style).Print(rows);
}

absl::StatusOr<bool> ReadWide(const CommandLine& line) {
  const std::string output = line.Get("output");
  if (output.empty() || output == "wide") return !output.empty();
  return WrongUse(absl::StrCat(line.command, ": --output may be wide"));
}

Printer::Printer(Kind kind, const Format& format, Session& session, std::optional<absl::Time> as_of)
    : kind_(kind),
      format_(format),
      session_(session),
      as_of_(as_of),
      everywhere_(session.line.Has("all-clusters")),
      of_cells_(session.of_cells),
      labels_(session.line.Has("show-labels")),
      style_(StyleFor(session.env, !session.line.Has("no-headers"), format.type == Type::kTable)),
      table_(HeadersOf(kind, format, session), style_),
      once_(session.of_cells && !session.line.Has("watch")) {}

std::vector<std::string> Printer::RowOf(const Item& item) const {
  if (format_.type == Type::kColumns) return CellsOf(format_.columns, ShownObject(item));
  std::vector<std::string> row;
  if (of_cells_) row.push_back(item.cell);
  if (everywhere_) {
    std::vector<std::string> place = PlaceOf(NameOf(item));
    place.resize(PlaceHeaders(kind_).size());
    absl::c_move(place, std::back_inserter(row));
  }
  absl::c_move(Row(item, format_.type == Type::kWide, as_of_.value_or(session_.env.clock.Now())),
               std::back_inserter(row));
  if (labels_) row.push_back(LabelText(item));
  return row;
}

void Printer::Print(const std::vector<Item>& items) {
  std::ostream& out = session_.env.out;
  if (format_.type == Type::kTable || format_.type == Type::kWide ||
      format_.type == Type::kColumns) {
    std::vector<std::vector<std::string>> rows;
    for (const Item& item : items) rows.push_back(RowOf(item));
    StreamFor(session_.env, style_) << table_.Print(rows);
  }
  for (const Item& item : items) {
    if (format_.type == Type::kJson) out << ShownObject(item).dump(2) << "\n";
    if (format_.type == Type::kYaml)
      out << (documents_++ > 0 ? "---\n" : "") << ToYaml(ShownObject(item));
    if (format_.type == Type::kName) PrintName(Label(item, session_.scope));
    if (format_.type == Type::kJsonPath) {
      const auto text = format_.path.Render(ShownObject(item));
      if (text.ok()) out << *text;
    }
  }
  out.flush();
}

void Printer::PrintName(const std::string& label) {
  if (!once_ || named_.insert(label).second) session_.env.out << label << "\n";
}

void Printer::PrintDeleted(const std::string& name, const std::string& cell) {
  const bool for_people = format_.is_rows() && format_.type != Type::kName;
  std::ostream& out = for_people ? session_.env.out : session_.env.err;
  out << Label(kind_, name, session_.scope) << " deleted"
      << (cell.empty() ? "" : absl::StrCat(" in ", cell)) << std::endl;
}

absl::Status PrintAll(const std::vector<Item>& items, const Format& format, bool is_list,
                      Session& session, std::optional<absl::Time> as_of) {
  std::ostream& out = session.env.out;
  if (format.is_rows()) {
    for (size_t begin = 0, end = 0; begin < items.size(); begin = end) {
      const Kind kind = KindOf(items[begin]);
      for (end = begin; end < items.size() && KindOf(items[end]) == kind;) ++end;
      const bool is_table = format.type != Type::kName;
      if (begin > 0 && is_table) out << "\n";
      Printer(kind, format, session, as_of)
          .Print({items.begin() + static_cast<std::ptrdiff_t>(begin),
                  items.begin() + static_cast<std::ptrdiff_t>(end)});
    }
    return absl::OkStatus();
  }
  std::vector<nlohmann::json> objects;
  for (const Item& item : items) objects.push_back(ShownObject(item));
  if (!is_list && objects.empty()) return absl::OkStatus();
  const nlohmann::json whole = is_list || objects.size() != 1 ? ToList(objects) : objects[0];
  if (format.type == Type::kJson) out << whole.dump(2) << "\n";
  if (format.type == Type::kYaml) out << ToYaml(whole);
  if (format.type == Type::kJsonPath) {
    ASSIGN_OR_RETURN(const std::string text, format.path.Render(whole));
    out << text;
  }
  out.flush();
  return absl::OkStatus();
}

}  // namespace muster::musterctl
