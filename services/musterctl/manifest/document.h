#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

// YAML text as typed values that remember their lines. Types as in YAML 1.2: a plain `true` is a
// boolean, a plain `8` an integer, everything quoted a string; `yes` and `010` are strings.
namespace muster::musterctl {

// Limits: bytes of a manifest; bytes of one document; newlines, commas and opening brackets in a
// document (each may be a value, which takes half a kilobyte while it is read); values in a
// manifest (an alias counts each time); depth of nesting.
inline constexpr size_t kMaxManifestBytes = 16u << 20;
inline constexpr size_t kMaxDocumentBytes = 4u << 20;
inline constexpr int kMaxDocumentMarks = 500'000;
inline constexpr int kMaxValues = 1'000'000;
inline constexpr int kMaxDepth = 64;

struct Value {
  enum class Type { kNull, kBool, kInteger, kHugeInteger, kNumber, kString, kList, kMap };
  Type type = Type::kNull;
  std::string text = {};  // scalars, as they were written
  bool boolean = false;
  int64_t integer = 0;
  std::vector<Value> list = {};
  std::vector<std::pair<std::string, Value>> map = {};  // in the order of the text, no key twice
  int line = 0;                                         // from 1

  // Null when it is no map or has no such key.
  const Value* Find(absl::string_view key) const;
  // For error messages: `the string "x"`, `a list`.
  std::string Describe() const;
};

// One document of one file.
struct Document {
  std::string file = {};  // as the user named it
  int number = 0;         // in the file, from 1; empty documents count
  Value value = {};
};

// `file: document 2, line 14`.
std::string Place(absl::string_view file, int document, int line);

// Whether every YAML reader, also of YAML 1.1, reads the unquoted text as a string.
bool ReadsAsString(const std::string& text);

// The documents of a YAML (or JSON) text, empty ones left out. INVALID_ARGUMENT naming file,
// document and line.
absl::StatusOr<std::vector<Document>> ParseDocuments(absl::string_view file,
                                                     absl::string_view text);

}  // namespace muster::musterctl
