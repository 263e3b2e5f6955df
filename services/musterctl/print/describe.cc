#include "services/musterctl/print/describe.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/condition_names.h"
#include "services/musterctl/print/objects.h"
#include "services/musterctl/print/printable.h"
#include "services/musterctl/print/table.h"

namespace muster::musterctl {
namespace {

using nlohmann::json;

// Values below the first block begin in this column or, after longer labels, further right.
constexpr size_t kValueColumn = 29;

struct Line {
  size_t level = 0;
  std::string label = {};
  std::optional<std::string> value = {};  // none: a heading
};

// In one line: what others wrote is never taken for lines of ours.
std::string Text(const json& value) {
  if (value.is_null()) return "<nil>";
  return Printable(value.is_string() ? value.get<std::string>() : value.dump());
}

void AddFields(const json& object, size_t level, std::vector<Line>& lines);

void AddItems(const json& list, size_t level, std::vector<Line>& lines) {
  for (const json& item : list) {
    if (item.is_object()) {
      AddFields(item, level, lines);
    } else {
      lines.push_back({level, Text(item)});
    }
  }
}

// Fields in alphabetical order, as kubectl prints an object that it does not know.
void AddFields(const json& object, size_t level, std::vector<Line>& lines) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) {
      lines.push_back({level, LabelFor(key) + ":"});
      AddFields(value, level + 1, lines);
    } else if (value.is_array()) {
      lines.push_back({level, LabelFor(key) + ":"});
      AddItems(value, level + 1, lines);
    } else {
      lines.push_back({level, LabelFor(key) + ":", Text(value)});
    }
  }
}

// Labels or annotations: one a line, the first beside the heading.
void AddMap(const std::string& heading, const json& map, absl::string_view between,
            std::vector<Line>& lines) {
  std::string label = heading;
  for (const auto& [key, value] : map.items()) {
    lines.push_back({0, label, absl::StrCat(key, between, Text(value))});
    label.clear();
  }
  if (map.empty()) lines.push_back({0, label, "<none>"});
}

// Lines of one level that follow each other have their values in one column.
std::string Layout(const std::vector<Line>& lines) {
  std::string out;
  for (size_t begin = 0; begin < lines.size();) {
    size_t end = begin;
    size_t width = begin == 0 ? 0 : kValueColumn;
    while (end < lines.size() && lines[end].level == lines[begin].level &&
           lines[end].value.has_value() == lines[begin].value.has_value()) {
      width = std::max(width, 2 * lines[end].level + lines[end].label.size() + 2);
      ++end;
    }
    for (; begin < end; ++begin) {
      std::string line = std::string(2 * lines[begin].level, ' ') + lines[begin].label;
      if (lines[begin].value && !lines[begin].value->empty()) {
        line.append(width - line.size(), ' ');
        absl::StrAppend(&line, *lines[begin].value);
      }
      absl::StrAppend(&out, line, "\n");
    }
  }
  return out;
}

std::string EventAge(const lifecycle::v1::Event& event, absl::Time now) {
  if (event.count() <= 1) return Age(event.first_time(), now);
  return absl::StrCat(Age(event.last_time(), now), " (x", event.count(), " over ",
                      Age(event.first_time(), now), ")");
}

std::string EventsTable(std::vector<lifecycle::v1::Event> events, absl::Time now) {
  std::stable_sort(events.begin(), events.end(), Earlier);
  std::vector<std::vector<std::string>> rows = {{"Type", "Reason", "Age", "From", "Message"},
                                                {"----", "------", "----", "----", "-------"}};
  for (const auto& event : events) {
    rows.push_back({event.type(), event.reason(), EventAge(event, now), "muster",
                    Printable(absl::StripAsciiWhitespace(event.message()))});
  }
  std::vector<size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out = "Events:\n";
  for (const auto& row : rows) {
    std::string line = "  ";
    for (size_t i = 0; i + 1 < row.size(); ++i) {
      absl::StrAppend(&line, row[i], std::string(widths[i] - row[i].size() + 2, ' '));
    }
    absl::StrAppend(&out, line, row.back(), "\n");
  }
  return out;
}

std::string DescribeObject(json object) {
  json& metadata = object["metadata"];
  const std::string id = Text(metadata["name"]);
  std::vector<Line> lines = {{0, "Name:", id}, {0, "Namespace:", ""}};
  AddMap("Labels:", metadata.value("labels", json::object()), "=", lines);
  AddMap("Annotations:", metadata.value("annotations", json::object()), ": ", lines);
  for (const char* shown : {"name", "labels", "annotations"}) metadata.erase(shown);
  AddFields(object, 0, lines);
  return Layout(lines);
}

std::string Describe(json object, const std::string& name,
                     const std::vector<lifecycle::v1::Event>& events, absl::Time now) {
  std::vector<lifecycle::v1::Event> own;
  for (const auto& event : events) {
    if (event.object() == name) own.push_back(event);
  }
  return DescribeObject(std::move(object)) +
         (own.empty() ? absl::StrCat("Events:", std::string(kValueColumn - 7, ' '), "<none>\n")
                      : EventsTable(std::move(own), now));
}

}  // namespace

std::string LabelFor(absl::string_view field) {
  const bool simple = std::all_of(field.begin(), field.end(), [](char c) {
    return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '-';
  });
  if (!simple || field.empty()) return std::string(field);
  std::vector<std::string> words;
  for (const char c : field) {
    const bool upper = absl::ascii_isupper(static_cast<unsigned char>(c));
    if (words.empty() || upper) words.emplace_back();
    words.back().push_back(c);
  }
  for (std::string& word : words) {
    const std::string upper = absl::AsciiStrToUpper(word);
    const bool acronym =
        upper == "API" || upper == "URL" || upper == "UID" || upper == "OSB" || upper == "GUID";
    if (acronym) word = upper;
    word[0] = absl::ascii_toupper(static_cast<unsigned char>(word[0]));
  }
  return absl::StrJoin(words, " ");
}

std::string DescribeNodePool(const Item& item, const std::vector<lifecycle::v1::Event>& events,
                             absl::Time now, bool all) {
  const auto& pool = std::get<lifecycle::v1::NodePool>(item);
  json object = ToObject(item);
  json& status = object["status"];
  // The reference's pool does not show the condition that sums up the others.
  json conditions = json::array();
  for (json& condition : status["conditions"]) {
    if (!all && IsSummaryCondition(condition["type"].get<std::string>())) continue;
    condition.erase("observedGeneration");
    conditions.push_back(std::move(condition));
  }
  status["conditions"] = std::move(conditions);
  const auto& revisions = pool.status().node_configuration_revisions();
  const bool disabled = std::any_of(revisions.begin(), revisions.end(),
                                    [](const auto& revision) { return revision.disabled(); });
  // The configuration that a pool started with is no news; the reference's pool does not show it.
  const bool choice = pool.status().has_pending_node_configuration() ||
                      pool.status().has_waiting_node_configuration() || revisions.size() > 1 ||
                      disabled;
  if (!choice && !all) {
    status.erase("nodeProfile");
    status.erase("nodeConfigurationRevisions");
  }
  using Reconfiguration = lifecycle::v1::Reconfiguration;
  const Reconfiguration::State state = pool.reconfiguration().state();
  const bool over =
      state == Reconfiguration::STATE_DONE || state == Reconfiguration::STATE_CANCELLED;
  if (over && !all) status.erase("reconfiguration");
  return Describe(std::move(object), pool.name(), events, now);
}

std::string DescribeNode(const Item& item, const std::vector<lifecycle::v1::Event>& events,
                         absl::Time now) {
  json object = ToObject(item);
  for (json& condition : object["status"]["conditions"]) condition.erase("observedGeneration");
  return Describe(std::move(object), NameOf(item), events, now);
}

std::string DescribeItem(const Item& item, const std::vector<lifecycle::v1::Event>& events,
                         absl::Time now, bool all) {
  if (KindOf(item) == Kind::kNodePool) return DescribeNodePool(item, events, now, all);
  if (KindOf(item) == Kind::kNode) return DescribeNode(item, events, now);
  return DescribeObject(ToObject(item));
}

}  // namespace muster::musterctl
