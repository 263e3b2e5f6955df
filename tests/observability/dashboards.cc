#include "tests/observability/dashboards.h"

#include <yaml-cpp/yaml.h>

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace muster::testing {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kWidth = 24;        // of a dashboard, in Grafana's columns
constexpr int kPanelWidth = 8;    // where the source does not say
constexpr int kPanelHeight = 8;   // in its rows
constexpr int kNumberHeight = 4;  // of a panel that is one number

const Json& DataSource() {
  static const auto& source = *new Json{{"type", "prometheus"}, {"uid", "${datasource}"}};
  return source;
}

// Throws if the node has a key that is not known: a slip of the pen.
void Expect(const YAML::Node& node, const std::set<std::string>& known, const std::string& where) {
  for (const auto& entry : node) {
    const auto key = entry.first.as<std::string>();
    if (!known.contains(key)) throw std::runtime_error(absl::StrCat(where, ": unknown key ", key));
  }
}

std::string Text(const YAML::Node& node, const char* key, const std::string& where) {
  if (!node[key]) throw std::runtime_error(absl::StrCat(where, ": no ", key));
  return std::string(absl::StripAsciiWhitespace(node[key].as<std::string>()));
}

Json Variables(const YAML::Node& names, const YAML::Node& queries, const std::string& where) {
  Json list = Json::array();
  list.push_back({{"name", "datasource"},
                  {"label", "Prometheus"},
                  {"type", "datasource"},
                  {"query", "prometheus"}});
  for (const auto& name : names) {
    const auto key = name.as<std::string>();
    list.push_back({{"name", key},
                    {"type", "query"},
                    {"datasource", DataSource()},
                    {"query", Text(queries, key.c_str(), where)},
                    {"refresh", 2},
                    {"sort", 1},
                    {"multi", true},
                    {"includeAll", true},
                    {"allValue", ".*"},
                    {"current", {{"text", "All"}, {"value", "$__all"}}}});
  }
  return {{"list", list}};
}

Json Targets(const YAML::Node& panel, bool table, const std::string& where) {
  Json targets = Json::array();
  const auto add = [&](const YAML::Node& query) {
    Json target = {{"refId", std::string(1, static_cast<char>('A' + targets.size()))},
                   {"datasource", DataSource()},
                   {"expr", Text(query, "query", where)},
                   {"legendFormat", query["legend"] ? query["legend"].as<std::string>() : ""}};
    if (table) target.update({{"format", "table"}, {"instant", true}});
    targets.push_back(std::move(target));
  };
  if (!panel["queries"]) add(panel);
  for (const auto& query : panel["queries"]) {
    Expect(query, {"query", "legend"}, where);
    add(query);
  }
  return targets;
}

Json FieldConfig(const std::string& unit, bool stacked) {
  Json defaults = {{"unit", unit}};
  if (stacked) {
    defaults["custom"] = {{"fillOpacity", 30}, {"stacking", {{"mode", "normal"}, {"group", "A"}}}};
    defaults["min"] = 0;
  }
  return {{"defaults", defaults}, {"overrides", Json::array()}};
}

Json Panel(const YAML::Node& source, const std::string& where) {
  Expect(source, {"title", "description", "unit", "kind", "width", "query", "queries", "legend"},
         where);
  const std::string kind = source["kind"] ? source["kind"].as<std::string>() : "lines";
  if (kind != "lines" && kind != "stacked" && kind != "number" && kind != "table")
    throw std::runtime_error(absl::StrCat(where, ": unknown kind ", kind));
  const std::string description = Text(source, "description", where);
  if (!absl::EndsWith(description, "."))
    throw std::runtime_error(absl::StrCat(where, ": the description is no sentence"));
  const std::string type = kind == "number" ? "stat" : (kind == "table" ? "table" : "timeseries");
  return {{"type", type},
          {"title", Text(source, "title", where)},
          {"description", description},
          {"datasource", DataSource()},
          {"fieldConfig", FieldConfig(Text(source, "unit", where), kind == "stacked")},
          {"targets", Targets(source, kind == "table", where)}};
}

// Lays panels out from left to right, row by row.
class Layout {
 public:
  void AddRow(const std::string& title) {
    EndLine();
    Json row = {{"type", "row"}, {"title", title}, {"collapsed", false}};
    Place(std::move(row), kWidth, 1);
    EndLine();
  }
  void Add(Json panel, int width) {
    if (x_ + width > kWidth) EndLine();
    const int height = panel["type"] == "stat" ? kNumberHeight : kPanelHeight;
    Place(std::move(panel), width, height);
  }
  const Json& panels() const { return panels_; }

 private:
  void Place(Json panel, int width, int height) {
    panel["id"] = panels_.size() + 1;
    panel["gridPos"] = {{"x", x_}, {"y", y_}, {"w", width}, {"h", height}};
    panels_.push_back(std::move(panel));
    x_ += width;
    height_ = std::max(height_, height);
  }
  void EndLine() {
    y_ += height_;
    x_ = 0;
    height_ = 0;
  }

  Json panels_ = Json::array();
  int x_ = 0;
  int y_ = 0;
  int height_ = 0;
};

// One line for each panel, so that a diff shows which panel changed.
std::string Print(const Json& head, const Json& panels) {
  std::string text = "{\n";
  for (const auto& [key, value] : head.items())
    absl::StrAppend(&text, " ", Json(key).dump(), ": ", value.dump(), ",\n");
  absl::StrAppend(&text, " \"panels\": [\n");
  for (size_t i = 0; i < panels.size(); ++i)
    absl::StrAppend(&text, "  ", panels[i].dump(), i + 1 < panels.size() ? ",\n" : "\n");
  absl::StrAppend(&text, " ]\n}\n");
  return text;
}

}  // namespace

Dashboards::Dashboards(const std::string& source_file) {
  const YAML::Node source = YAML::LoadFile(source_file);
  Expect(source, {"variables", "dashboards"}, source_file);
  for (const auto& dashboard : source["dashboards"]) {
    const std::string title = Text(dashboard, "title", source_file);
    Expect(dashboard, {"uid", "title", "variables", "rows"}, title);
    Layout layout;
    for (const auto& row : dashboard["rows"]) {
      layout.AddRow(Text(row, "title", title));
      for (const auto& entry : row["panels"]) {
        const std::string where = absl::StrCat(title, ", ", Text(entry, "title", title));
        Json panel = Panel(entry, where);
        for (const auto& target : panel["targets"]) {
          queries_.push_back({.dashboard = title,
                              .panel = panel["title"].get<std::string>(),
                              .expression = target["expr"].get<std::string>(),
                              .legend = target["legendFormat"].get<std::string>()});
        }
        layout.Add(std::move(panel), entry["width"] ? entry["width"].as<int>() : kPanelWidth);
      }
    }
    const std::string uid = Text(dashboard, "uid", title);
    const Json head = {
        {"uid", uid},
        {"title", title},
        {"tags", {"muster"}},
        {"schemaVersion", 37},
        {"editable", true},
        {"refresh", "30s"},
        {"time", {{"from", "now-3h"}, {"to", "now"}}},
        {"templating", Variables(dashboard["variables"], source["variables"], title)}};
    all_.push_back({.uid = uid, .json = Print(head, layout.panels())});
  }
}

std::string WithoutVariables(const std::string& expression, const std::string& interval) {
  return absl::StrReplaceAll(
      expression,
      {{"$__rate_interval", interval}, {"$zone", ".*"}, {"$service", ".*"}, {"$instance", ".*"}});
}

}  // namespace muster::testing
