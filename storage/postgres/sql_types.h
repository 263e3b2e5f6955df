#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

// Values at the edge to Postgres: libpqxx sends text only.
namespace muster::storage {

// A `timestamptz` with microseconds, and back (as Postgres prints it with TimeZone = UTC, datestyle
// ISO).
std::string ToSqlTime(absl::Time time);
absl::Time FromSqlTime(absl::string_view text);
// A `bytea` in hex format, and back.
inline std::string ToSqlBytes(absl::string_view bytes) {
  return absl::StrCat("\\x", absl::BytesToHexString(bytes));
}
inline std::string FromSqlBytes(absl::string_view text) {
  return absl::HexStringToBytes(text.substr(2));
}
// The elements of an array as Postgres prints it. An element that is NULL counts as empty; arrays
// of arrays are not meant.
std::vector<std::string> FromSqlArray(absl::string_view text);

// A Postgres array as text, for `unnest($1::bigint[])` and the like.
class SqlArray {
 public:
  void Add(absl::string_view text) {
    Separate();
    text_ += '"';
    // Hardly any text has something to escape.
    const size_t plain = std::min({text.find('"'), text.find('\\'), text.size()});
    text_.append(text.data(), plain);
    for (const char c : text.substr(plain)) {
      if (c == '"' || c == '\\') text_ += '\\';
      text_ += c;
    }
    text_ += '"';
  }
  void Add(const char* text) { Add(absl::string_view(text)); }
  void Add(const std::string& text) { Add(absl::string_view(text)); }
  void Add(bool value) {
    Separate();
    text_ += value ? 't' : 'f';
  }
  template <class Int,
            std::enable_if_t<std::is_integral_v<Int> && !std::is_same_v<Int, bool>, int> = 0>
  void Add(Int value) {
    Separate();
    absl::StrAppend(&text_, value);
  }
  void Add(absl::Time time) { Add(ToSqlTime(time)); }
  void AddBytes(absl::string_view bytes) {
    Separate();
    absl::StrAppend(&text_, "\"\\\\x", absl::BytesToHexString(bytes), "\"");
  }
  void AddNull() {
    Separate();
    text_ += "NULL";
  }
  bool empty() const { return text_.empty(); }
  std::string Text() const { return absl::StrCat("{", text_, "}"); }

 private:
  void Separate() {
    if (!text_.empty()) text_ += ',';
  }

  std::string text_;
};

}  // namespace muster::storage
