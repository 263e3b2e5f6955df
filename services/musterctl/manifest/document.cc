#include "services/musterctl/manifest/document.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "services/common/status_macros.h"
#include "services/common/text_fault.h"

namespace muster::musterctl {
namespace {

// Thrown for a fault at a line of the text; file and document are added later.
struct Fault {
  std::string what = {};
  int line = 0;
};

bool IsDecimal(absl::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  if (text.empty() || (text.size() > 1 && text[0] == '0')) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool IsNumber(absl::string_view text) {
  double ignored = 0;
  return text.find_first_of("0123456789") != absl::string_view::npos &&
         text.find_first_not_of("0123456789+-.eE") == absl::string_view::npos &&
         absl::SimpleAtod(text, &ignored) &&
         !(text.size() > 1 && text[0] == '0' && text[1] != '.' && text[1] != 'e');
}

Value PlainScalar(const std::string& text) {
  Value value{.type = Value::Type::kString, .text = text};
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
    value.type = Value::Type::kNull;
  } else if (text == "true" || text == "True" || text == "TRUE" || text == "false" ||
             text == "False" || text == "FALSE") {
    value.type = Value::Type::kBool;
    value.boolean = text[0] == 't' || text[0] == 'T';
  } else if (IsDecimal(text)) {
    value.type =
        absl::SimpleAtoi(text, &value.integer) ? Value::Type::kInteger : Value::Type::kHugeInteger;
  } else if (IsNumber(text)) {
    value.type = Value::Type::kNumber;
  }
  return value;
}

// Turns yaml-cpp's nodes into values. Throws Fault.
class Converter {
 public:
  // The lines of the text before those that nodes are read from next.
  void SetLinesBefore(int lines) { lines_before_ = lines; }

  Value Convert(const YAML::Node& node, int depth) {
    const int line = LineOf(node);
    if (++values_ > kMaxValues)
      throw Fault{absl::StrCat("more than ", kMaxValues, " values"), line};
    if (depth > kMaxDepth) throw Fault{absl::StrCat("nested deeper than ", kMaxDepth), line};
    Value value;
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        break;
      case YAML::NodeType::Scalar:
        // Tag `!` means quoted; anything else with a `!` is a tag of the user's.
        value = node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str"
                    ? Value{.type = Value::Type::kString, .text = node.Scalar()}
                    : PlainScalar(node.Scalar());
        break;
      case YAML::NodeType::Sequence:
        value.type = Value::Type::kList;
        for (const YAML::Node& item : node) value.list.push_back(Convert(item, depth + 1));
        break;
      case YAML::NodeType::Map:
        value = ConvertMap(node, depth);
        break;
    }
    value.line = line;
    return value;
  }

 private:
  int LineOf(const YAML::Node& node) const { return lines_before_ + node.Mark().line + 1; }

  Value ConvertMap(const YAML::Node& node, int depth) {
    Value value{.type = Value::Type::kMap};
    std::unordered_set<std::string> keys;
    for (const auto& entry : node) {
      const int line = LineOf(entry.first);
      if (!entry.first.IsScalar()) throw Fault{"a key must be a plain word", line};
      const std::string& key = entry.first.Scalar();
      if (!keys.insert(key).second) throw Fault{absl::StrCat("\"", key, "\" is there twice"), line};
      value.map.emplace_back(key, Convert(entry.second, depth + 1));
      // A missing value has no place of its own.
      if (value.map.back().second.type == Value::Type::kNull) value.map.back().second.line = line;
    }
    return value;
  }

  int values_ = 0;
  int lines_before_ = 0;
};

std::optional<Fault> CheckBytes(absl::string_view text) {
  if (text.size() > kMaxManifestBytes)
    return Fault{absl::StrCat("larger than ", kMaxManifestBytes, " bytes"), 1};
  const std::optional<TextFault> fault = FindTextFault(text);
  return fault ? std::optional(Fault{fault->what, fault->line}) : std::nullopt;
}

bool IsSeparator(absl::string_view line) {
  return line == "---" ||
         (line.size() > 3 && line.substr(0, 3) == "---" && (line[3] == ' ' || line[3] == '\t'));
}

// Which of its documents a line of a text belongs to, by the separators before it.
class DocumentLines {
 public:
  explicit DocumentLines(absl::string_view text) {
    int line = 0;
    bool content = false;
    for (absl::string_view row : absl::StrSplit(text, '\n')) {
      ++line;
      while (!row.empty() && row.back() == '\r') row.remove_suffix(1);
      if (IsSeparator(row)) {
        if (content) begins_.push_back(line);
        content = true;
      } else if (row.find_first_not_of(" \t") != absl::string_view::npos && row[0] != '#' &&
                 row[0] != '%') {
        content = true;
      }
    }
  }

  // The first line of each document but the first.
  const std::vector<int>& begins() const { return begins_; }

  int DocumentAt(int line) const {
    const auto after = std::upper_bound(begins_.begin(), begins_.end(), line);
    return static_cast<int>(after - begins_.begin()) + 1;
  }

 private:
  std::vector<int> begins_;
};

// A part of a text that is parsed at once: only its nodes are in memory meanwhile.
struct Piece {
  absl::string_view text = {};
  int lines_before = 0;
};

// Throws Fault for a piece of which too much would be built.
void CheckSize(const Piece& piece) {
  const auto fault = [&](absl::string_view what) {
    return Fault{
        absl::StrCat(what, "; a file may have ", kMaxManifestBytes, " bytes, in several documents"),
        piece.lines_before + 1};
  };
  if (piece.text.size() > kMaxDocumentBytes)
    throw fault(absl::StrCat("larger than ", kMaxDocumentBytes, " bytes"));
  const auto marks = std::count_if(piece.text.begin(), piece.text.end(), [](char c) {
    return c == ',' || c == '\n' || c == '[' || c == '{';
  });
  if (marks > kMaxDocumentMarks)
    throw fault(absl::StrCat("more than ", kMaxDocumentMarks, " lines, commas and brackets"));
}

// One piece for each document; where directives stand before a document, one with that before.
// Throws Fault for one that is too large.
std::vector<Piece> Split(absl::string_view text, const DocumentLines& lines) {
  std::vector<Piece> pieces;
  size_t begin = 0;
  int line = 0;
  int first = 0;
  bool directive = false;
  auto next = lines.begins().begin();
  const auto end_at = [&](size_t end) {
    pieces.push_back({text.substr(begin, end - begin), first});
    CheckSize(pieces.back());
    begin = end;
    first = line - 1;
  };
  for (size_t at = 0; at < text.size();) {
    ++line;
    if (next != lines.begins().end() && *next == line) {
      if (!directive) end_at(at);
      ++next;
    }
    if (text[at] != '#' && text[at] != '\n' && text[at] != '\r') directive = text[at] == '%';
    const size_t newline = text.find('\n', at);
    at = newline == absl::string_view::npos ? text.size() : newline + 1;
  }
  end_at(text.size());
  return pieces;
}

// What `\uXXXX` at the begin of the text stands for; 0: there is none.
uint32_t EscapedUnit(absl::string_view text) {
  uint32_t unit = 0;
  const bool is_escape =
      absl::StartsWith(text, "\\u") && absl::SimpleHexAtoi(text.substr(2, 4), &unit);
  return is_escape ? unit : 0;
}

bool IsIn(uint32_t unit, uint32_t first, uint32_t last) { return first <= unit && unit <= last; }

// The text; if it is JSON, with each pair of surrogate escapes joined into the one escape that YAML
// has for characters beyond the BMP.
std::string WithoutSurrogatePairs(absl::string_view text) {
  std::string joined;
  std::string plain(text);  // without surrogates: JSON, also where some are no pairs
  size_t begin = 0;
  for (size_t at = text.find('\\'); at != absl::string_view::npos; at = text.find('\\', at + 2)) {
    const uint32_t high = EscapedUnit(text.substr(at));
    if (!IsIn(high, 0xD800, 0xDFFF)) continue;
    plain[at + 2] = '0';
    const uint32_t low = EscapedUnit(text.substr(at + 6));
    if (!IsIn(high, 0xD800, 0xDBFF) || !IsIn(low, 0xDC00, 0xDFFF)) continue;
    const uint32_t whole = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
    absl::StrAppend(&joined, text.substr(begin, at - begin), "\\U",
                    absl::Hex(whole, absl::kZeroPad8));
    begin = at + 12;
  }
  // Only in JSON: in other YAML a backslash may be no escape.
  const absl::string_view json = absl::StripPrefix(plain, "---");
  if (begin == 0 || !nlohmann::json::accept(json.begin(), json.end())) return std::string(text);
  absl::StrAppend(&joined, text.substr(begin));
  return joined;
}

absl::Status At(absl::string_view file, absl::string_view text, const Fault& fault) {
  return absl::InvalidArgumentError(absl::StrCat(
      Place(file, DocumentLines(text).DocumentAt(fault.line), fault.line), ": ", fault.what));
}

// `0x1f`, `-0b11`, `0o17`.
bool LooksLikeBits(absl::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && absl::StrContains("xXoObB", text.substr(1, 1)) &&
         text.find_first_not_of("0123456789abcdefABCDEF_", 2) == absl::string_view::npos;
}

// Begins like `2025-06-09`.
bool LooksLikeTime(absl::string_view text) {
  const auto take_digits = [&](size_t least, size_t most) {
    const size_t digits = std::min(text.size(), text.find_first_not_of("0123456789"));
    if (digits < least) return false;
    text.remove_prefix(std::min(digits, most));
    return true;
  };
  if (!take_digits(4, 4) || !absl::ConsumePrefix(&text, "-")) return false;
  if (!take_digits(1, 2) || !absl::ConsumePrefix(&text, "-") || !take_digits(1, 2)) return false;
  return text.empty() || absl::StrContains("Tt \t", text.substr(0, 1));
}

// Whether some YAML reader takes it for a number (`1_000`, `12:30:45`, `1e3`, `0x1f`) or a time.
bool LooksLikeNumber(absl::string_view text) {
  return text.find_first_not_of("-+0123456789._:eE") == absl::string_view::npos ||
         LooksLikeBits(text) || LooksLikeTime(text);
}

}  // namespace

const Value* Value::Find(absl::string_view key) const {
  for (const auto& [name, value] : map) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::string Value::Describe() const {
  switch (type) {
    case Type::kNull:
      return "empty";
    case Type::kBool:
      return absl::StrCat("the boolean ", text);
    case Type::kInteger:
    case Type::kHugeInteger:
      return absl::StrCat("the integer ", text);
    case Type::kNumber:
      return absl::StrCat("the number ", text);
    case Type::kString:
      return absl::StrCat("the string \"", text.substr(0, 64), "\"");
    case Type::kList:
      return "a list";
    case Type::kMap:
      return "a mapping";
  }
  return "";
}

std::string Place(absl::string_view file, int document, int line) {
  return absl::StrCat(file, ": document ", document, ", line ", line);
}

bool ReadsAsString(const std::string& text) {
  if (PlainScalar(text).type != Value::Type::kString) return false;
  const bool number_like = LooksLikeNumber(text);
  const std::string lower = absl::AsciiStrToLower(text);
  for (const absl::string_view word : {"yes", "no", "on", "off", "y", "n", "true", "false", "null",
                                       ".inf", "+.inf", "-.inf", ".nan"}) {
    if (lower == word) return false;
  }
  return !number_like;
}

absl::StatusOr<std::vector<Document>> ParseDocuments(absl::string_view file,
                                                     absl::string_view text) {
  if (auto fault = CheckBytes(text)) return At(file, text, *fault);
  std::vector<Document> documents;
  int lines_before = 0;
  try {
    const DocumentLines lines(text);
    Converter converter;
    for (const Piece& piece : Split(text, lines)) {
      lines_before = piece.lines_before;
      converter.SetLinesBefore(lines_before);
      for (const YAML::Node& node : YAML::LoadAll(WithoutSurrogatePairs(piece.text))) {
        Value value = converter.Convert(node, 0);
        if (value.type == Value::Type::kNull) continue;
        const int number = lines.DocumentAt(value.line);
        documents.push_back(
            {.file = std::string(file), .number = number, .value = std::move(value)});
      }
    }
  } catch (const YAML::Exception& error) {
    return At(
        file, text,
        {absl::StrCat("not YAML: ", error.msg), lines_before + std::max(error.mark.line + 1, 1)});
  } catch (const Fault& fault) {
    return At(file, text, fault);
  }
  return documents;
}

}  // namespace muster::musterctl
