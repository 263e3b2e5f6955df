#include "services/rpc/filter.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "services/common/status_macros.h"
#include "services/rpc/field_path.h"
#include "services/rpc/path_text.h"

namespace muster::rpc {

// A comparison, or an operator over other nodes.
struct Filter::Node {
  enum class Kind { kAll, kAny, kNot, kCompare };
  enum class Op { kEqual, kNotEqual, kLess, kLessOrEqual, kGreater, kGreaterOrEqual, kHas };
  Kind kind = Kind::kCompare;
  std::vector<std::shared_ptr<const Node>> parts = {};
  FieldPath path = {};
  Op op = Op::kEqual;
  std::string text = {};
  FieldValue value = {};
};

namespace {

using Node = Filter::Node;
using Op = Node::Op;

// The bounds of a filter: more than people write.
constexpr size_t kMaxFilterBytes = 1024;
constexpr int kMaxParentheses = 32;

// Enums are written by name, but not compared as texts are.
bool IsText(const Node& node) {
  return node.path.field().cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_STRING;
}

struct Token {
  enum class Kind { kWord, kText, kOp, kOpen, kClose, kEnd };
  Kind kind = Kind::kEnd;
  std::string text = {};
  size_t at = 0;
};

bool IsWordChar(char c) {
  return !absl::ascii_isspace(static_cast<unsigned char>(c)) &&
         absl::string_view("()=!<>:\"").find(c) == absl::string_view::npos;
}

class Lexer {
 public:
  explicit Lexer(absl::string_view text) : text_(text) {}

  absl::StatusOr<std::vector<Token>> All() {
    std::vector<Token> tokens;
    while (true) {
      while (at_ < text_.size() && absl::ascii_isspace(static_cast<unsigned char>(text_[at_])))
        ++at_;
      ASSIGN_OR_RETURN(Token token, Next());
      const bool last = token.kind == Token::Kind::kEnd;
      in_value_ = token.kind == Token::Kind::kOp;
      tokens.push_back(std::move(token));
      if (last) return tokens;
    }
  }

 private:
  absl::StatusOr<Token> Next() {
    const size_t begin = at_;
    if (at_ == text_.size()) return Token{Token::Kind::kEnd, "", begin};
    const char c = text_[at_];
    if (c == '(') return Single(Token::Kind::kOpen);
    if (c == ')') return Single(Token::Kind::kClose);
    if (c == '"') {
      ASSIGN_OR_RETURN(std::string text, ReadQuoted(text_, at_));
      return Token{Token::Kind::kText, std::move(text), begin};
    }
    for (const char* op : {"!=", "<=", ">=", "=", "<", ">", ":"}) {
      if (!absl::StartsWith(text_.substr(at_), op)) continue;
      at_ += absl::string_view(op).size();
      return Token{Token::Kind::kOp, op, begin};
    }
    if (c == '!') return WrongAt(begin, "`!` stands alone; write NOT");
    return Word();
  }

  Token Single(Token::Kind kind) { return Token{kind, std::string(1, text_[at_]), at_++}; }

  absl::StatusOr<Token> Word() {
    const size_t begin = at_;
    // A time needs no quotes.
    ASSIGN_OR_RETURN(std::string text, ReadWord(text_, at_, [this](char c) {
                       return IsWordChar(c) || (in_value_ && c == ':');
                     }));
    return Token{Token::Kind::kWord, std::move(text), begin};
  }

  const absl::string_view text_;
  size_t at_ = 0;
  bool in_value_ = false;  // behind a comparison
};

class Parser {
 public:
  Parser(std::vector<Token> tokens, const google::protobuf::Descriptor& type)
      : tokens_(std::move(tokens)), type_(type) {}

  absl::StatusOr<std::shared_ptr<const Node>> Whole() {
    ASSIGN_OR_RETURN(auto all, Expression());
    if (Peek().kind != Token::Kind::kEnd) return WrongAt(Peek().at, "`)` closes nothing");
    return all;
  }

 private:
  using Result = absl::StatusOr<std::shared_ptr<const Node>>;

  const Token& Peek() const { return tokens_[next_]; }
  const Token& Take() { return tokens_[next_++]; }
  bool TakeWord(absl::string_view word) {
    if (Peek().kind != Token::Kind::kWord || Peek().text != word) return false;
    ++next_;
    return true;
  }

  static std::shared_ptr<const Node> Join(Node::Kind kind,
                                          std::vector<std::shared_ptr<const Node>> parts) {
    if (parts.size() == 1) return parts.front();
    auto node = std::make_shared<Node>();
    node->kind = kind;
    node->parts = std::move(parts);
    return node;
  }

  Result Expression() {
    if (++depth_ > kMaxParentheses)
      return WrongAt(Peek().at, "too many parentheses within each other");
    std::vector<std::shared_ptr<const Node>> parts;
    do {
      ASSIGN_OR_RETURN(parts.emplace_back(), Factor());
    } while (TakeWord("AND") ||
             (Peek().kind != Token::Kind::kEnd && Peek().kind != Token::Kind::kClose));
    --depth_;
    return Join(Node::Kind::kAll, std::move(parts));
  }

  Result Factor() {
    std::vector<std::shared_ptr<const Node>> parts;
    do {
      ASSIGN_OR_RETURN(parts.emplace_back(), Term());
    } while (TakeWord("OR"));
    return Join(Node::Kind::kAny, std::move(parts));
  }

  Result Term() {
    bool negated = TakeWord("NOT");
    Token& token = tokens_[next_];
    if (!negated && token.kind == Token::Kind::kWord && token.text.front() == '-') {
      negated = true;
      token.text.erase(0, 1);
      if (token.text.empty()) ++next_;
    }
    ASSIGN_OR_RETURN(auto node, Simple());
    if (!negated) return node;
    auto no = std::make_shared<Node>();
    no->kind = Node::Kind::kNot;
    no->parts.push_back(std::move(node));
    return std::shared_ptr<const Node>(std::move(no));
  }

  Result Simple() {
    if (Peek().kind != Token::Kind::kOpen) return Comparison();
    const size_t at = Take().at;
    ASSIGN_OR_RETURN(auto inner, Expression());
    if (Peek().kind != Token::Kind::kClose) return WrongAt(at, "`(` is not closed");
    ++next_;
    return inner;
  }

  Result Comparison() {
    const Token field = Take();
    if (field.kind != Token::Kind::kWord || field.text == "AND" || field.text == "OR")
      return WrongAt(field.at, "a field such as `spec.instance_type` is expected");
    if (Peek().kind != Token::Kind::kOp)
      return WrongAt(Peek().at, "`=`, `!=`, `<`, `<=`, `>`, `>=` or `:` is expected");
    const Token op = Take();
    if (Peek().kind != Token::Kind::kWord && Peek().kind != Token::Kind::kText)
      return WrongAt(Peek().at, "a value is expected");
    const Token value = Take();
    auto node = std::make_shared<Node>();
    const auto path = FieldPath::Resolve(type_, PartsOf(field.text));
    if (!path.ok()) return WrongAt(field.at, path.status().message());
    node->path = *path;
    node->op = OpOf(op.text);
    node->text = value.text;
    const absl::Status typed = Type(*node, value);
    if (!typed.ok()) return WrongAt(value.at, typed.message());
    return std::shared_ptr<const Node>(std::move(node));
  }

  static Op OpOf(absl::string_view text) {
    constexpr std::pair<absl::string_view, Op> kOps[] = {
        {"=", Op::kEqual},        {"!=", Op::kNotEqual}, {"<", Op::kLess},
        {"<=", Op::kLessOrEqual}, {">", Op::kGreater},   {">=", Op::kGreaterOrEqual},
        {":", Op::kHas}};
    return std::find_if(std::begin(kOps), std::end(kOps),
                        [&](const auto& op) { return op.first == text; })
        ->second;
  }

  // Of a list or a map.
  static absl::Status CheckHas(const Node& node) {
    if (node.path.is_nameless())
      return absl::InvalidArgumentError("nothing names the entries of the list; only `:*` asks it");
    return node.path.is_keyed() ? absl::OkStatus() : node.path.ParseValue(node.text).status();
  }

  // What the value is compared as.
  static absl::Status Type(Node& node, const Token& value) {
    const bool is_text = IsText(node);
    const bool is_enum =
        node.path.field().cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_ENUM;
    const bool orders = node.op != Op::kHas && node.op != Op::kEqual && node.op != Op::kNotEqual;
    if (is_enum && orders) return absl::InvalidArgumentError("the field has no order: `=` or `!=`");
    if (node.op == Op::kHas && node.path.is_many() && node.text != "*") return CheckHas(node);
    if (node.op == Op::kHas && (node.text == "*" || (is_text && node.path.is_value())))
      return absl::OkStatus();
    if (!node.path.is_value())
      return absl::InvalidArgumentError("the field is no single value; only `:` asks it");
    // The empty text stands for what is not set.
    if (value.kind == Token::Kind::kText && value.text.empty() && !is_text)
      return absl::InvalidArgumentError(
          "the field is no text; `NOT field:*` asks for what is not set");
    ASSIGN_OR_RETURN(node.value, node.path.ParseValue(node.text));
    return absl::OkStatus();
  }

  std::vector<Token> tokens_;
  const google::protobuf::Descriptor& type_;
  size_t next_ = 0;
  int depth_ = 0;
};

// `*` at the beginning or the end stands for anything.
bool MatchesText(absl::string_view text, absl::string_view pattern) {
  const bool front = pattern.size() > 1 && absl::ConsumePrefix(&pattern, "*");
  const bool back = absl::ConsumeSuffix(&pattern, "*");
  if (front && back) return absl::StrContains(text, pattern);
  if (front) return absl::EndsWith(text, pattern);
  if (back) return absl::StartsWith(text, pattern);
  return text == pattern;
}

bool Equal(const FieldValue& is, const Node& node) {
  return IsText(node) ? MatchesText(std::get<std::string>(is), node.text) : is == node.value;
}

bool Has(const google::protobuf::Message& resource, const Node& node) {
  if (node.text == "*") return node.path.IsSet(resource);
  if (node.path.is_many()) return node.path.Has(resource, node.text);
  const FieldValue is = node.path.Get(resource);
  return IsText(node) ? absl::StrContains(std::get<std::string>(is), node.text) : is == node.value;
}

bool Holds(const google::protobuf::Message& resource, const Node& node) {
  const auto holds = [&](const auto& part) { return Holds(resource, *part); };
  switch (node.kind) {
    case Node::Kind::kAll:
      return std::all_of(node.parts.begin(), node.parts.end(), holds);
    case Node::Kind::kAny:
      return std::any_of(node.parts.begin(), node.parts.end(), holds);
    case Node::Kind::kNot:
      return !holds(node.parts.front());
    case Node::Kind::kCompare:
      break;
  }
  if (node.op == Op::kHas) return Has(resource, node);
  const FieldValue is = node.path.Get(resource);
  switch (node.op) {
    case Op::kEqual:
      return Equal(is, node);
    case Op::kNotEqual:
      return !Equal(is, node);
    case Op::kLess:
      return is < node.value;
    case Op::kLessOrEqual:
      return is <= node.value;
    case Op::kGreater:
      return is > node.value;
    case Op::kGreaterOrEqual:
      return is >= node.value;
    case Op::kHas:
      break;
  }
  return false;
}

std::optional<std::string> DemandedBy(const Node& node,
                                      const google::protobuf::FieldDescriptor& field) {
  if (node.kind == Node::Kind::kAll) {
    for (const auto& part : node.parts) {
      if (auto text = DemandedBy(*part, field)) return text;
    }
    return std::nullopt;
  }
  const bool is_it = node.kind == Node::Kind::kCompare && node.op == Op::kEqual &&
                     &node.path.field() == &field && IsText(node);
  const bool is_open = absl::StartsWith(node.text, "*") || absl::EndsWith(node.text, "*");
  return is_it && !is_open ? std::optional(node.text) : std::nullopt;
}

}  // namespace

absl::StatusOr<Filter> Filter::Parse(absl::string_view text,
                                     const google::protobuf::Descriptor& type) {
  if (text.size() > kMaxFilterBytes)
    return absl::InvalidArgumentError(
        absl::StrCat("must have at most ", kMaxFilterBytes, " bytes"));
  if (absl::StripAsciiWhitespace(text).empty()) return Filter(nullptr);
  ASSIGN_OR_RETURN(std::vector<Token> tokens, Lexer(text).All());
  ASSIGN_OR_RETURN(auto root, Parser(std::move(tokens), type).Whole());
  return Filter(std::move(root));
}

bool Filter::Keeps(const google::protobuf::Message& resource) const {
  return root_ == nullptr || Holds(resource, *root_);
}

std::optional<std::string> Filter::Demanded(const google::protobuf::FieldDescriptor& field) const {
  return root_ == nullptr ? std::nullopt : DemandedBy(*root_, field);
}

}  // namespace muster::rpc
