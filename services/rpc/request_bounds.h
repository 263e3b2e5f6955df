#pragma once

#include <google/protobuf/descriptor.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::rpc {

// Checks the bytes of a request of that type against the bounds of limits.h (kMaxRequestEntries,
// kMaxEntries, kMaxStringBytes) before anybody parses them: two million empty messages are four
// megabytes on the wire and hundreds in memory. Tighter bounds of a field are for its own check,
// which then looks at a thousand entries at most.
//
// INVALID_ARGUMENT, INVALID_FIELD: the first field that exceeds a bound, and what is allowed; or a
// message field that is not repeated and stands there twice (parsers merge them, nobody sends
// them). OK for bytes that are no such message at all: the parser refuses them.
absl::Status CheckBounds(const google::protobuf::Descriptor& type, absl::string_view bytes);

}  // namespace muster::rpc
