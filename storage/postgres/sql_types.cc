#include "storage/postgres/sql_types.h"

#include <algorithm>
#include <limits>
#include <pqxx/array>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"

namespace muster::storage {
namespace {

// Of pg_type.dat: these never change.
constexpr uint32_t kBoolean = 16;
constexpr uint32_t kBytea = 17;
constexpr uint32_t kBigint = 20;
constexpr uint32_t kInteger = 23;
constexpr uint32_t kText = 25;
constexpr uint32_t kTimestamptz = 1184;
constexpr uint32_t kJsonb = 3802;

// The only version of a jsonb's binary form: its text follows.
constexpr char kJsonbVersion = 1;

uint32_t TypeOf(absl::string_view type) {
  if (type == "text" || absl::EndsWith(type, "[]")) return kText;
  if (type == "bigint") return kBigint;
  if (type == "integer") return kInteger;
  if (type == "boolean") return kBoolean;
  if (type == "timestamp with time zone") return kTimestamptz;
  if (type == "bytea") return kBytea;
  if (type == "jsonb") return kJsonb;
  throw std::logic_error(absl::StrCat("No array is made of ", type));
}

template <class Int>
void AppendBigEndian(Int value, std::string& out) {
  char bytes[sizeof(Int)];
  for (size_t i = 0; i < sizeof(Int); ++i)
    bytes[i] = static_cast<char>(value >> (8 * (sizeof(Int) - 1 - i)));
  out.append(bytes, sizeof(Int));
}

void Expect(bool fits) {
  if (!fits) throw std::logic_error("A value is not of its array's type.");
}

}  // namespace

std::string ToSqlTime(absl::Time time) {
  if (time == absl::InfiniteFuture()) return "infinity";
  if (time == absl::InfinitePast()) return "-infinity";
  // All rows of a batch bear the same time, and to write it out is not cheap.
  thread_local absl::Time last_time = absl::InfinitePast();
  thread_local std::string last_text;
  if (time != last_time) {
    last_text = absl::FormatTime("%E4Y-%m-%d %H:%M:%E6S+00", time, absl::UTCTimeZone());
    last_time = time;
  }
  return last_text;
}

absl::Time FromSqlTime(absl::string_view text) {
  if (text == "infinity") return absl::InfiniteFuture();
  if (text == "-infinity") return absl::InfinitePast();
  // "2026-11-21 05:42:30.123456+00": %Ez wants "+00:00".
  absl::Time time;
  std::string error;
  if (!absl::ParseTime("%Y-%m-%d %H:%M:%E*S%Ez", absl::StrCat(text, ":00"), &time, &error))
    return absl::InfinitePast();
  return time;
}

std::vector<std::string> FromSqlArray(absl::string_view text) {
  using Parser = pqxx::array_parser;
  std::vector<std::string> elements;
  if (text == "{}") return elements;
  const std::string whole(text);
  Parser parser(whole.c_str());
  for (auto [juncture, element] = parser.get_next(); juncture != Parser::juncture::done;
       std::tie(juncture, element) = parser.get_next()) {
    if (juncture == Parser::juncture::string_value || juncture == Parser::juncture::null_value)
      elements.push_back(std::move(element));
  }
  return elements;
}

void SqlTextArray::Add(absl::string_view text) {
  if (!text_.empty()) text_ += ',';
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

SqlArray::SqlArray(absl::string_view type) : type_(TypeOf(type)) {}

void SqlArray::Append(absl::string_view element) {
  ++count_;
  AppendBigEndian(static_cast<int32_t>(element.size()), elements_);
  elements_.append(element.data(), element.size());
}

void SqlArray::Add(absl::string_view text) {
  Expect(type_ == kText || type_ == kJsonb);
  if (type_ == kText) return Append(text);
  ++count_;
  AppendBigEndian(static_cast<int32_t>(text.size() + 1), elements_);
  elements_.push_back(kJsonbVersion);
  elements_.append(text.data(), text.size());
}

void SqlArray::Add(bool value) {
  Expect(type_ == kBoolean);
  Append(value ? absl::string_view("\1", 1) : absl::string_view("\0", 1));
}

void SqlArray::AddInteger(int64_t value) {
  Expect(type_ == kBigint || (type_ == kInteger && value >= std::numeric_limits<int32_t>::min() &&
                              value <= std::numeric_limits<int32_t>::max()));
  ++count_;
  if (type_ == kBigint) {
    AppendBigEndian(int32_t{sizeof(int64_t)}, elements_);
    AppendBigEndian(value, elements_);
  } else {
    AppendBigEndian(int32_t{sizeof(int32_t)}, elements_);
    AppendBigEndian(static_cast<int32_t>(value), elements_);
  }
}

void SqlArray::Add(absl::Time time) {
  Expect(type_ == kTimestamptz);
  // Postgres counts microseconds from 2000 on.
  static const absl::Time epoch = absl::FromUnixSeconds(946'684'800);
  int64_t micros = std::numeric_limits<int64_t>::max();
  if (time == absl::InfinitePast()) {
    micros = std::numeric_limits<int64_t>::min();
  } else if (time != absl::InfiniteFuture()) {
    micros = absl::ToUnixMicros(time) - absl::ToUnixMicros(epoch);
  }
  ++count_;
  AppendBigEndian(int32_t{sizeof(int64_t)}, elements_);
  AppendBigEndian(micros, elements_);
}

void SqlArray::AddBytes(absl::string_view bytes) {
  Expect(type_ == kBytea);
  Append(bytes);
}

void SqlArray::AddNull() {
  ++count_;
  has_null_ = true;
  AppendBigEndian(int32_t{-1}, elements_);
}

SqlParam SqlArray::Param() const {
  constexpr size_t kHeaderBytes = 5 * sizeof(int32_t);
  std::string bytes;
  bytes.reserve(kHeaderBytes + elements_.size());
  AppendBigEndian(int32_t{count_ > 0}, bytes);  // dimensions
  AppendBigEndian(int32_t{has_null_}, bytes);
  AppendBigEndian(type_, bytes);
  if (count_ > 0) {
    AppendBigEndian(count_, bytes);
    AppendBigEndian(int32_t{1}, bytes);  // the first element's number
  }
  bytes += elements_;
  return {std::move(bytes), true};
}

}  // namespace muster::storage
