#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "absl/strings/string_view.h"

// jsonb columns hold API messages.
namespace muster::storage {

// Throws std::runtime_error when the message cannot be written, which no row of ours is.
std::string ToJson(const google::protobuf::Message& message);
// Throws std::runtime_error when the text is not such a message: the tables were tampered with.
void FromJson(absl::string_view text, google::protobuf::Message& message);

}  // namespace muster::storage
