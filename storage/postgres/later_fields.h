#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

// Two releases at one database: the older one keeps, and writes back, the parts of a row that it
// does not know.
namespace muster::storage {

// The fields of `message` that this release does not know, serialized as a message that holds
// nothing else. Empty: there are none. Unknown fields within the elements of lists and maps are
// left out.
std::string UnknownFieldsOf(const google::protobuf::Message& message);

// A message with only the fields `names` of `message`, serialized. Names that are not fields of its
// type are ignored.
std::string FieldsOf(const google::protobuf::Message& message, absl::Span<const std::string> names);

// Returns what this release reads in the message that is being merged, as bytes: equal bytes mean
// the same.
using LaterReading = absl::FunctionRef<std::string()>;

// Merges into `message` what one of the functions above returned (`later`). Known fields replace
// those of `message`; a submessage that both have is merged field by field, as the release that
// wrote it may not have known its other fields. A submessage that `message` no longer has and of
// which `later` holds only unknown fields is put back only if `reading` stays the same: if its mere
// presence means something, it stays away. False: `later` cannot be parsed.
bool MergeLater(absl::string_view later, google::protobuf::Message& message, LaterReading reading);

}  // namespace muster::storage
