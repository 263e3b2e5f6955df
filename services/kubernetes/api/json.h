#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"

// Reads objects as API servers send them: what is missing or of another type reads as empty.
namespace muster::kubernetes {

using Json = nlohmann::json;

// A member, or a member of it; null when it is absent.
inline const Json& MemberOf(const Json& object, absl::string_view key) {
  static const Json& null = *new Json();
  if (!object.is_object()) return null;
  const auto found = object.find(std::string(key));
  return found == object.end() ? null : *found;
}
template <class... Keys>
const Json& MemberOf(const Json& object, absl::string_view key, Keys... keys) {
  return MemberOf(MemberOf(object, key), keys...);
}

inline const std::string& TextOf(const Json& value) {
  static const std::string& empty = *new std::string();
  return value.is_string() ? value.get_ref<const std::string&>() : empty;
}

inline bool IsTrue(const Json& value) { return value.is_boolean() && value.get<bool>(); }

inline int64_t NumberOf(const Json& value) {
  return value.is_number_integer() ? value.get<int64_t>() : 0;
}

// InfinitePast for what is no time.
inline absl::Time TimeOf(const Json& value) {
  absl::Time time;
  const bool reads = absl::ParseTime(absl::RFC3339_full, TextOf(value), &time, nullptr);
  return reads ? time : absl::InfinitePast();
}

// Whether `version` is later than `other`: resource versions of one collection are numbers that
// grow. True where one of them is no number: it may be.
inline bool IsLater(absl::string_view version, absl::string_view other) {
  uint64_t a = 0;
  uint64_t b = 0;
  if (!absl::SimpleAtoi(version, &a) || !absl::SimpleAtoi(other, &b)) return true;
  return a > b;
}

// Whether `version` is known to be earlier than `than`: false where one of them is no number.
inline bool IsOlder(absl::string_view version, absl::string_view than) {
  return version != than && !IsLater(version, than);
}

}  // namespace muster::kubernetes
