#include "tests/kubernetes/fake_api_server/selectors.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/kubernetes/fake_api_server/refusal.h"

namespace muster::testing {
namespace {

std::string Trimmed(absl::string_view text) {
  return std::string(absl::StripAsciiWhitespace(text));
}

// At the commas that are not within parentheses.
std::vector<std::string> Parts(absl::string_view text) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) {
      parts.push_back(Trimmed(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!absl::StripAsciiWhitespace(part).empty()) parts.push_back(Trimmed(part));
  return parts;
}

struct Equation {
  std::string key = {};
  std::string value = {};
  bool negated = false;
};
// `a=b`, `a==b`, `a!=b`; false: it is none.
bool ParseEquation(absl::string_view part, Equation& equation) {
  const size_t at = part.find('=');
  if (at == absl::string_view::npos || at == 0) return false;
  equation.negated = part[at - 1] == '!';
  equation.key = Trimmed(part.substr(0, equation.negated ? at - 1 : at));
  absl::string_view value = part.substr(at + 1);
  absl::ConsumePrefix(&value, "=");
  equation.value = Trimmed(value);
  return true;
}

// A missing field reads as the empty text, as the server has it.
std::string TextAt(const nlohmann::json& object, const std::vector<std::string>& path,
                   bool& exists) {
  const nlohmann::json* value = &object;
  exists = false;
  for (const std::string& key : path) {
    const auto found = value->find(key);
    if (!value->is_object() || found == value->end()) return "";
    value = &*found;
  }
  exists = true;
  return value->is_string() ? value->get<std::string>() : value->dump();
}

}  // namespace

Selection::Selection(const Resource& resource, absl::string_view space, absl::string_view labels,
                     absl::string_view fields) {
  if (!space.empty())
    requirements_.push_back({.path = {"metadata", "namespace"}, .values = {std::string(space)}});
  AddLabels(labels);
  AddFields(resource, fields);
}

void Selection::AddLabels(absl::string_view labels) {
  for (const std::string& part : Parts(labels)) {
    Equation equation;
    Requirement requirement;
    const size_t open = part.find('(');
    if (open != std::string::npos) {
      const std::vector<std::string> words =
          absl::StrSplit(part.substr(0, open), ' ', absl::SkipEmpty());
      if (words.size() != 2 || (words[1] != "in" && words[1] != "notin") || part.back() != ')')
        throw BadRequest(absl::StrCat("unable to parse requirement: ", part));
      equation.key = words[0];
      requirement.negated = words[1] == "notin";
      for (const absl::string_view value :
           absl::StrSplit(part.substr(open + 1, part.size() - open - 2), ',')) {
        requirement.values.push_back(Trimmed(value));
      }
    } else if (ParseEquation(part, equation)) {
      requirement.negated = equation.negated;
      requirement.values = {equation.value};
    } else {
      requirement.exists = true;
      requirement.negated = absl::StartsWith(part, "!");
      equation.key = Trimmed(absl::StripPrefix(part, "!"));
    }
    requirement.path = {"metadata", "labels", equation.key};
    requirements_.push_back(std::move(requirement));
  }
}

void Selection::AddFields(const Resource& resource, absl::string_view fields) {
  for (const std::string& part : Parts(fields)) {
    Equation equation;
    if (!ParseEquation(part, equation))
      throw BadRequest(absl::StrCat("invalid field selector: ", part));
    const bool known = equation.key == "metadata.name" || equation.key == "metadata.namespace" ||
                       std::find(resource.fields.begin(), resource.fields.end(), equation.key) !=
                           resource.fields.end();
    if (!known) throw BadRequest(absl::StrCat("field label not supported: ", equation.key));
    requirements_.push_back({.path = absl::StrSplit(equation.key, '.'),
                             .values = {equation.value},
                             .negated = equation.negated});
  }
}

bool Selection::Holds(const Requirement& requirement, const nlohmann::json& object) {
  bool exists = false;
  const std::string text = TextAt(object, requirement.path, exists);
  if (requirement.exists) return exists != requirement.negated;
  const bool is_label = requirement.path.size() == 3 && requirement.path[1] == "labels";
  const bool found = (exists || !is_label) &&
                     std::find(requirement.values.begin(), requirement.values.end(), text) !=
                         requirement.values.end();
  return found != requirement.negated;
}

bool Selection::Matches(const nlohmann::json& object) const {
  return std::all_of(requirements_.begin(), requirements_.end(),
                     [&](const Requirement& requirement) { return Holds(requirement, object); });
}

}  // namespace muster::testing
