#include "storage/postgres/sql_types.h"

#include <pqxx/array>
#include <tuple>
#include <utility>

namespace muster::storage {

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

}  // namespace muster::storage
