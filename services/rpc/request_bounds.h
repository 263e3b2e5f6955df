#pragma once

#include <google/protobuf/descriptor.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::rpc {

// Holds the bytes of a request of that type against the bounds of limits.h (kMaxRequestEntries,
// kMaxEntries, kMaxStringBytes) before anybody parses them: two million empty messages are four
// megabytes on the wire and hundreds in memory. What a field may hold beyond that is for its own
// check, which then looks at a thousand entries at most.
//
// INVALID_ARGUMENT, INVALID_FIELD: the first field that is over, and what is allowed; a message
// that is not repeated and stands there twice (parsers merge them, nobody sends them). OK for what
// is no such message at all: its parser says so.
absl::Status CheckBounds(const google::protobuf::Descriptor& type, absl::string_view bytes);

}  // namespace muster::rpc
