#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

// Two releases at one database: what the older one does not know of a row it keeps, and hands on.
namespace muster::storage {

// What of the message are fields that this release does not know, as a message of its own, serialized. Empty: there are none. Those within lists and maps are not in it.
std::string UnknownFieldsOf(const google::protobuf::Message& message);

// Of the message only these fields of its own, serialized.
std::string FieldsOf(const google::protobuf::Message& message, absl::Span<const std::string> names);

// What this release reads in a message that is being put together, in bytes: equal ones say the same.
using LaterReading = absl::FunctionRef<std::string()>;

// Puts what the two above gave into the message: known fields in the place of its own, those of a message within one by one (the release
// that wrote them may have known no others of it). A message within that is gone comes back for what is unknown in it only where
// `reading` is the same then: where it says something by being there, it stays away. False: `later` is no such message.
bool MergeLater(absl::string_view later, google::protobuf::Message& message, LaterReading reading);

}  // namespace muster::storage
