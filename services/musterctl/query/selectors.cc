#include "services/musterctl/query/selectors.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "services/common/status_macros.h"

namespace muster::musterctl {
namespace {

using nlohmann::json;

// At the commas that are not in parentheses.
std::vector<absl::string_view> SplitRequirements(absl::string_view text) {
  std::vector<absl::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    parts.push_back(absl::StripAsciiWhitespace(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  return parts;
}

absl::Status Bad(absl::string_view part) {
  return absl::InvalidArgumentError(absl::StrCat(
      "selector \"", part,
      "\": must be KEY=VALUE, KEY!=VALUE, KEY in (A,B), KEY notin (A,B), KEY or !KEY"));
}

bool IsKey(absl::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' ||
           c == '/';
  });
}

// `(a, b)` as its words.
std::optional<std::vector<std::string>> ParseSet(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (!absl::ConsumePrefix(&text, "(") || !absl::ConsumeSuffix(&text, ")")) return std::nullopt;
  std::vector<std::string> values;
  for (const absl::string_view word : absl::StrSplit(text, ','))
    values.emplace_back(absl::StripAsciiWhitespace(word));
  return values;
}

struct Comparison {
  absl::string_view left = {};
  absl::string_view right = {};
  bool equal = true;
};

// `a=b`, `a==b`, `a!=b`; nullopt: none of them.
std::optional<Comparison> ParseComparison(absl::string_view part) {
  const size_t at = part.find('=');
  if (at == absl::string_view::npos) return std::nullopt;
  Comparison comparison{part.substr(0, at), part.substr(at + 1)};
  if (absl::ConsumeSuffix(&comparison.left, "!")) {
    comparison.equal = false;
  } else {
    absl::ConsumePrefix(&comparison.right, "=");
  }
  comparison.left = absl::StripAsciiWhitespace(comparison.left);
  comparison.right = absl::StripAsciiWhitespace(comparison.right);
  return comparison;
}

}  // namespace

absl::StatusOr<LabelSelector> LabelSelector::Parse(absl::string_view text) {
  LabelSelector selector;
  for (absl::string_view part : SplitRequirements(text)) {
    Requirement& added = selector.requirements_.emplace_back();
    const absl::string_view whole = part;
    if (const auto comparison = ParseComparison(part)) {
      added = {std::string(comparison->left), comparison->equal, {std::string(comparison->right)}};
    } else if (absl::ConsumePrefix(&part, "!")) {
      added = {std::string(absl::StripAsciiWhitespace(part)), false, {}};
    } else {
      const size_t space = part.find(' ');
      added.key = std::string(part.substr(0, space));
      if (space != absl::string_view::npos) {
        absl::string_view rest = absl::StripLeadingAsciiWhitespace(part.substr(space));
        added.wants = !absl::ConsumePrefix(&rest, "not");
        const bool is_in = absl::ConsumePrefix(&rest, "in");
        const auto values = ParseSet(rest);
        if (!is_in || !values) return Bad(whole);
        added.values = *values;
      }
    }
    if (!IsKey(added.key)) return Bad(whole);
  }
  return selector;
}

bool LabelSelector::Matches(const json& labels) const {
  return std::all_of(requirements_.begin(), requirements_.end(), [&](const Requirement& wanted) {
    const bool there = labels.is_object() && labels.contains(wanted.key);
    if (!there || wanted.values.empty()) return there == wanted.wants;
    const std::string value = PathText(labels.at(wanted.key));
    const bool is_one =
        std::find(wanted.values.begin(), wanted.values.end(), value) != wanted.values.end();
    return is_one == wanted.wants;
  });
}

std::string LabelSelector::Filter(absl::string_view path) const {
  std::vector<std::string> parts;
  for (const Requirement& wanted : requirements_) {
    const std::string quoted = absl::StrCat("\"", wanted.key, "\"");
    if (wanted.values.empty()) {
      parts.push_back(absl::StrCat(wanted.wants ? "" : "NOT ", path, ":", quoted));
      continue;
    }
    // No quotes and no `*`, which are special in filters; no empty value, which a filter cannot
    // tell from a missing label.
    if (!std::all_of(wanted.values.begin(), wanted.values.end(), IsKey)) return "";
    const auto compare = [&](std::string* out, const std::string& value) {
      absl::StrAppend(out, path, ".", quoted, wanted.wants ? " = \"" : " != \"", value, "\"");
    };
    const char* const joined = wanted.wants ? " OR " : " AND ";
    parts.push_back(absl::StrCat("(", absl::StrJoin(wanted.values, joined, compare), ")"));
  }
  return absl::StrJoin(parts, " AND ");
}

absl::StatusOr<FieldSelector> FieldSelector::Parse(absl::string_view text) {
  FieldSelector selector;
  for (const absl::string_view part : SplitRequirements(text)) {
    const auto comparison = ParseComparison(part);
    if (!comparison || comparison->left.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("field selector \"", part,
                       "\": must be PATH=VALUE or PATH!=VALUE, e.g. status.state=TRIAGE"));
    }
    ASSIGN_OR_RETURN(JsonPath path, JsonPath::Parse(comparison->left));
    selector.requirements_.push_back({std::string(comparison->left), std::move(path),
                                      comparison->equal, std::string(comparison->right)});
  }
  return selector;
}

bool FieldSelector::Matches(const json& object) const {
  return std::all_of(requirements_.begin(), requirements_.end(), [&](const Requirement& wanted) {
    const std::vector<const json*> found = wanted.path.Find(object);
    const bool is_so = found.empty()
                           ? wanted.value.empty()
                           : std::any_of(found.begin(), found.end(), [&](const json* value) {
                               return PathText(*value) == wanted.value;
                             });
    return is_so == wanted.equal;
  });
}

std::set<std::string> FieldSelector::Paths() const {
  std::set<std::string> paths;
  for (const Requirement& wanted : requirements_) paths.insert(wanted.text);
  return paths;
}

void FieldSelector::DropKnown(const std::vector<json>& objects,
                              std::set<std::string>& paths) const {
  for (const Requirement& wanted : requirements_) {
    if (std::any_of(objects.begin(), objects.end(),
                    [&](const json& object) { return !wanted.path.Find(object).empty(); }))
      paths.erase(wanted.text);
  }
}

}  // namespace muster::musterctl
