#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/interned.h"
#include "storage/postgres/sql_types.h"

// How a C++ value stands in a column: the column's type, the way in (a SqlArray, or a SqlTextArray
// where it is an element), and the way back from what Postgres prints. An enum of a domain gets a
// specialization that inherits from SqlWords.
namespace muster::storage {

template <class T>
struct SqlValue;

template <>
struct SqlValue<std::string> {
  static constexpr char kType[] = "text";
  template <class Array>
  static void Add(const std::string& value, Array& out) {
    out.Add(value);
  }
  static std::string Read(absl::string_view text) { return std::string(text); }
};

template <>
struct SqlValue<Interned<std::string>> : SqlValue<std::string> {};

template <class Int>
struct SqlInteger {
  template <class Array>
  static void Add(Int value, Array& out) {
    out.Add(value);
  }
  static Int Read(absl::string_view text) {
    Int value = 0;
    if (!absl::SimpleAtoi(text, &value))
      throw std::runtime_error(absl::StrCat("A row holds no whole number: ", text));
    return value;
  }
};
template <>
struct SqlValue<int64_t> : SqlInteger<int64_t> {
  static constexpr char kType[] = "bigint";
};
template <>
struct SqlValue<int32_t> : SqlInteger<int32_t> {
  static constexpr char kType[] = "integer";
};

template <>
struct SqlValue<bool> {
  static constexpr char kType[] = "boolean";
  template <class Array>
  static void Add(bool value, Array& out) {
    out.Add(value);
  }
  static bool Read(absl::string_view text) { return text == "t"; }
};

template <>
struct SqlValue<absl::Time> {
  static constexpr char kType[] = "timestamp with time zone";
  template <class Array>
  static void Add(absl::Time value, Array& out) {
    out.Add(value);
  }
  static absl::Time Read(absl::string_view text) { return FromSqlTime(text); }
};

template <>
struct SqlValue<std::vector<std::string>> {
  static constexpr char kType[] = "text[]";
  static void Add(const std::vector<std::string>& values, SqlArray& out) {
    SqlTextArray list;
    for (const std::string& value : values) list.Add(value);
    out.Add(list.Text());
  }
  static std::vector<std::string> Read(absl::string_view text) { return FromSqlArray(text); }
};

// An enum of `count` values from 0 on, as the words that `name_of` gives; the column's CHECK holds
// the same words.
template <class Enum, int count, auto name_of>
struct SqlWords {
  static constexpr char kType[] = "text";
  template <class Array>
  static void Add(Enum value, Array& out) {
    out.Add(absl::string_view(name_of(value)));
  }
  static Enum Read(absl::string_view text) {
    for (int i = 0; i < count; ++i) {
      if (text == name_of(static_cast<Enum>(i))) return static_cast<Enum>(i);
    }
    throw std::runtime_error(absl::StrCat("A row holds a word that is none of ours: ", text));
  }
};

}  // namespace muster::storage
