#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "absl/strings/string_view.h"

// jsonb columns hold API messages.
namespace muster::storage {

// As protobuf writes JSON, ten times as fast: strings, integers of 32 and 64 bits, bools, enums,
// timestamps, messages, lists and maps of these. Throws std::runtime_error when there is anything
// else in it.
std::string ToJson(const google::protobuf::Message& message);
// The way back, five times as fast as protobuf's: a start reads a row of each Node. Fields and
// words of enums that are not known, a later release's, are passed over. Throws std::runtime_error
// when the text is not such a message: the tables were tampered with.
void FromJson(absl::string_view text, google::protobuf::Message& message);

}  // namespace muster::storage
