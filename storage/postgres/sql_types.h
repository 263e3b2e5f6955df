#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

// Values at the edge to Postgres: what is read comes as text, rows are written in binary form.
namespace muster::storage {

// A `timestamptz` with microseconds, and back (as Postgres prints it with TimeZone = UTC, datestyle
// ISO).
std::string ToSqlTime(absl::Time time);
absl::Time FromSqlTime(absl::string_view text);
// A `bytea` as Postgres prints it, in hex format.
inline std::string FromSqlBytes(absl::string_view text) {
  return absl::HexStringToBytes(text.substr(2));
}
// The elements of an array as Postgres prints it. An element that is NULL counts as empty; arrays
// of arrays are not supported.
std::vector<std::string> FromSqlArray(absl::string_view text);

// A value of a statement as it travels: as text, or in Postgres' binary form.
struct SqlParam {
  SqlParam(std::string text) : bytes(std::move(text)) {}     // NOLINT: a value
  SqlParam(absl::string_view text) : bytes(text) {}          // NOLINT: a value
  SqlParam(int64_t number) : bytes(absl::StrCat(number)) {}  // NOLINT: a value
  SqlParam(std::string binary_form, bool is_binary)
      : bytes(std::move(binary_form)), binary(is_binary) {}

  std::string bytes = {};
  bool binary = false;
};

// An array of texts as Postgres reads it from text: for a column that is an array itself.
class SqlTextArray {
 public:
  void Add(absl::string_view text);
  void Add(const std::string& text) { Add(absl::string_view(text)); }
  void Add(int64_t number) { Add(absl::StrCat(number)); }
  void Add(absl::Time time) { Add(ToSqlTime(time)); }
  std::string Text() const { return absl::StrCat("{", text_, "}"); }

 private:
  std::string text_;
};

// A Postgres array in its binary form, for `unnest($1::bigint[])` and the like. What is added must
// fit `type`, that of the elements: another is a fault of the program, and throws std::logic_error.
class SqlArray {
 public:
  // `type` as information_schema has it. For a column that is an array itself: `text`, as which it
  // travels (SqlStatements).
  explicit SqlArray(absl::string_view type);

  void Add(absl::string_view text);
  void Add(const char* text) { Add(absl::string_view(text)); }
  void Add(const std::string& text) { Add(absl::string_view(text)); }
  void Add(bool value);
  template <class Int,
            std::enable_if_t<std::is_integral_v<Int> && !std::is_same_v<Int, bool>, int> = 0>
  void Add(Int value) {
    AddInteger(static_cast<int64_t>(value));
  }
  void Add(absl::Time time);
  void AddBytes(absl::string_view bytes);
  void AddNull();

  bool empty() const { return count_ == 0; }
  SqlParam Param() const;

 private:
  void AddInteger(int64_t value);
  void Append(absl::string_view element);

  uint32_t type_ = 0;  // an oid
  int32_t count_ = 0;
  bool has_null_ = false;
  std::string elements_;
};

}  // namespace muster::storage
