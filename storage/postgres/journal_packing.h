#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

// How a change stands in the journal's column `change`: as its message, or packed. Pure,
// thread-safe.
//
//   plain   the message's bytes
//   packed  07, a byte that says how, and what zstd made of the message, by dictionary 1:
//           01  of the whole message
//           02  of the message without its first field, which is field 1, the key
//           A zstd frame without its magic number; the frame tells the message's size.
//
// So stands the column `later` of a row, too, without a key.
//
// No message begins with 07: that is no field's tag. All releases that know packed changes read
// both; one that does not says of a packed one that it cannot be read.
namespace muster::storage {

// How changes are written. Read is what is there.
enum class JournalPacking {
  kNone,
  kZstd,
};

// `none`, `zstd`.
inline constexpr absl::string_view kJournalPackings[] = {"none", "zstd"};
std::optional<JournalPacking> ParseJournalPacking(absl::string_view name);

// The packed form of `message`, whose resource is `key`; the message itself where that is no
// longer.
std::string Pack(absl::string_view key, absl::string_view message);

// What Pack was given. Bytes that are not packed, or whose packing is broken or not known, are
// returned as they are: of the latter no message can be parsed.
std::string Unpack(absl::string_view key, std::string bytes);

// Whether Unpack could not unpack what is there: its packing is broken, or not known to this
// release.
bool IsStillPacked(absl::string_view bytes);

// What zstd knows beforehand of all changes. Part of the format: it is never changed. For other
// words there would be another dictionary, and another byte that says how.
absl::string_view PackingDictionary();

}  // namespace muster::storage
