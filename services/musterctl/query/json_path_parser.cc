#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "services/common/status_macros.h"
#include "services/musterctl/query/json_path.h"

namespace muster::musterctl {
namespace {

using nlohmann::json;
using Operator = PathFilter::Operator;
using Part = JsonPathTemplate::Part;

constexpr std::pair<absl::string_view, Operator> kOperators[] = {
    {"==", Operator::kEqual},   {"!=", Operator::kUnequal}, {"<=", Operator::kAtMost},
    {">=", Operator::kAtLeast}, {"<", Operator::kLess},     {">", Operator::kGreater}};

class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text), left_(text) {}

  // A path until white space, the end of a filter or of the text.
  absl::StatusOr<JsonPath> ParsePath() {
    std::vector<PathStep> steps;
    if (Take("$")) {
      steps.push_back({.type = PathStep::Type::kRoot});
    } else if (!Take("@") && !AtStep() && !Done()) {
      ASSIGN_OR_RETURN(steps.emplace_back().field, ParseField());
    }
    while (AtStep()) {
      ASSIGN_OR_RETURN(PathStep step, ParseStep());
      // `.` alone is where the path starts.
      if (step.type != PathStep::Type::kField || !step.field.empty())
        steps.push_back(std::move(step));
    }
    return JsonPath(std::move(steps));
  }

  absl::StatusOr<std::vector<Part>> ParseParts(bool in_range) {
    std::vector<Part> parts;
    while (!Done()) {
      if (!absl::StartsWith(left_, "{")) {
        const size_t brace = std::min(left_.find('{'), left_.size());
        parts.push_back({.text = std::string(left_.substr(0, brace))});
        left_.remove_prefix(brace);
        continue;
      }
      Take("{");
      SkipSpace();
      if (TakeWord("end")) {
        RETURN_IF_ERROR(Close());
        if (in_range) return parts;
        return Wrong("{end} without {range ...}");
      }
      ASSIGN_OR_RETURN(Part part, ParseBraces());
      parts.push_back(std::move(part));
    }
    if (in_range) return Wrong("{range ...} without {end}");
    return parts;
  }

  bool Done() const { return left_.empty(); }
  absl::Status Wrong(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("jsonpath \"", text_, "\": at character ",
                                                   text_.size() - left_.size() + 1, ": ", what));
  }

 private:
  bool Take(absl::string_view what) { return absl::ConsumePrefix(&left_, what); }
  bool AtStep() const { return absl::StartsWith(left_, ".") || absl::StartsWith(left_, "["); }
  void SkipSpace() { left_ = absl::StripLeadingAsciiWhitespace(left_); }
  bool TakeWord(absl::string_view word) {
    const absl::string_view after = left_.substr(std::min(word.size(), left_.size()));
    const bool ends = after.empty() || after[0] == '}' || after[0] == ' ';
    return ends && Take(word);
  }
  absl::Status Close() {
    SkipSpace();
    return Take("}") ? absl::OkStatus() : Wrong("one path a pair of braces; } is expected");
  }

  // What follows `{`.
  absl::StatusOr<Part> ParseBraces() {
    Part part;
    if (absl::StartsWith(left_, "\"") || absl::StartsWith(left_, "'")) {
      ASSIGN_OR_RETURN(part.text, ParseQuoted());
      RETURN_IF_ERROR(Close());
      return part;
    }
    const bool is_range = TakeWord("range");
    SkipSpace();
    part.type = is_range ? Part::Type::kRange : Part::Type::kPath;
    if (!AtStep() && !absl::StartsWith(left_, "@") && !absl::StartsWith(left_, "$"))
      return Wrong("a path begins with `.`, `[`, `@` or `$`");
    ASSIGN_OR_RETURN(part.path, ParsePath());
    RETURN_IF_ERROR(Close());
    if (is_range) {
      ASSIGN_OR_RETURN(part.parts, ParseParts(true));
    }
    return part;
  }

  absl::StatusOr<std::string> ParseQuoted() {
    const char quote = left_[0];
    std::string value;
    for (size_t i = 1; i < left_.size(); ++i) {
      char c = left_[i];
      if (c == quote) {
        left_.remove_prefix(i + 1);
        return value;
      }
      if (c == '\\' && i + 1 < left_.size()) {
        c = left_[++i];
        c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
      }
      value += c;
    }
    return Wrong("the text in quotes does not end");
  }

  // Up to the next `.`, `[` or what ends a path; `\.` is a dot of the name.
  absl::StatusOr<std::string> ParseField() {
    std::string field;
    while (!left_.empty()) {
      const char c = left_[0];
      if (c == '\\' && left_.size() > 1) {
        field += left_[1];
        left_.remove_prefix(2);
        continue;
      }
      if (absl::StrContains(".[]{}()=!<>@$,|& \t\n\"'*?", absl::string_view(&c, 1))) break;
      field += c;
      left_.remove_prefix(1);
    }
    return field;
  }

  absl::StatusOr<PathStep> ParseStep() {
    PathStep step;
    if (Take("[")) return ParseBrackets();
    if (Take("..")) {
      step.type = PathStep::Type::kDeep;
      ASSIGN_OR_RETURN(step.field, ParseField());
      if (step.field.empty()) return Wrong("a field's name must follow `..`");
      return step;
    }
    Take(".");
    if (Take("*")) return PathStep{.type = PathStep::Type::kWildcard};
    ASSIGN_OR_RETURN(step.field, ParseField());
    const bool ends = Done() || left_[0] == '}' || left_[0] == '[' || left_[0] == ')' ||
                      left_[0] == ' ' || left_[0] == '.' || !step.field.empty();
    if (!ends) return Wrong("a field's name must follow `.`");
    return step;
  }

  absl::StatusOr<PathStep> ParseBrackets() {
    PathStep step;
    if (Take("?(")) return ParseFilter();
    if (Take("*")) {
      step.type = PathStep::Type::kWildcard;
    } else if (absl::StartsWith(left_, "'") || absl::StartsWith(left_, "\"")) {
      ASSIGN_OR_RETURN(step.field, ParseQuoted());
    } else {
      const size_t end = left_.find(']');
      if (end == absl::string_view::npos) return Wrong("] is missing");
      const absl::string_view inside = left_.substr(0, end);
      const size_t colon = inside.find(':');
      const bool good = colon == absl::string_view::npos
                            ? ReadNumber(inside, step.from) && step.from
                            : ReadNumber(inside.substr(0, colon), step.from) &&
                                  ReadNumber(inside.substr(colon + 1), step.to);
      if (!good) return Wrong("in [] may stand a number, FROM:TO, *, a quoted name or ?(...)");
      step.type =
          colon == absl::string_view::npos ? PathStep::Type::kIndex : PathStep::Type::kSlice;
      left_.remove_prefix(end);
    }
    if (!Take("]")) return Wrong("] is missing");
    return step;
  }

  static bool ReadNumber(absl::string_view text, std::optional<int64_t>& number) {
    int64_t read = 0;
    if (text.empty()) return true;
    if (!absl::SimpleAtoi(text, &read)) return false;
    number = read;
    return true;
  }

  // After `?(`.
  absl::StatusOr<PathStep> ParseFilter() {
    PathFilter filter;
    SkipSpace();
    if (!absl::StartsWith(left_, "@")) return Wrong("a filter begins with @");
    ASSIGN_OR_RETURN(filter.left, ParsePath());
    SkipSpace();
    for (const auto& [sign, op] : kOperators) {
      if (filter.op == Operator::kExists && Take(sign)) filter.op = op;
    }
    if (filter.op != Operator::kExists) {
      SkipSpace();
      RETURN_IF_ERROR(ParseOperand(filter));
      SkipSpace();
    }
    if (!Take(")]")) return Wrong("a filter is ?(@.path OPERATOR value), ending in )]");
    return PathStep{.type = PathStep::Type::kFilter,
                    .filter = std::make_shared<const PathFilter>(std::move(filter))};
  }

  absl::Status ParseOperand(PathFilter& filter) {
    if (absl::StartsWith(left_, "\"") || absl::StartsWith(left_, "'")) {
      ASSIGN_OR_RETURN(const std::string text, ParseQuoted());
      filter.value = text;
      return absl::OkStatus();
    }
    if (absl::StartsWith(left_, "@") || absl::StartsWith(left_, "$")) {
      ASSIGN_OR_RETURN(filter.right, ParsePath());
      return absl::OkStatus();
    }
    const size_t end = std::min(left_.find(')'), left_.size());
    const absl::string_view word = absl::StripAsciiWhitespace(left_.substr(0, end));
    double number = 0;
    int64_t whole = 0;
    if (word == "true" || word == "false") {
      filter.value = word == "true";
    } else if (absl::SimpleAtoi(word, &whole)) {
      filter.value = whole;
    } else if (absl::SimpleAtod(word, &number)) {
      filter.value = number;
    } else {
      return Wrong("a value is a number, true, false, a path or text in quotes");
    }
    left_.remove_prefix(end);
    return absl::OkStatus();
  }

  const absl::string_view text_;
  absl::string_view left_;
};

}  // namespace

absl::StatusOr<JsonPath> JsonPath::Parse(absl::string_view text) {
  absl::string_view path = absl::StripAsciiWhitespace(text);
  if (absl::ConsumePrefix(&path, "{") && !absl::ConsumeSuffix(&path, "}"))
    return absl::InvalidArgumentError(absl::StrCat("jsonpath \"", text, "\": } is missing"));
  Parser parser(path);
  if (parser.Done()) return parser.Wrong("a path is missing");
  ASSIGN_OR_RETURN(JsonPath parsed, parser.ParsePath());
  if (!parser.Done()) return parser.Wrong("only one path may stand here");
  return parsed;
}

absl::StatusOr<JsonPathTemplate> JsonPathTemplate::Parse(absl::string_view text) {
  JsonPathTemplate parsed;
  Parser parser(text);
  if (parser.Done()) return parser.Wrong("a template is missing");
  ASSIGN_OR_RETURN(parsed.parts_, parser.ParseParts(false));
  return parsed;
}

}  // namespace muster::musterctl
