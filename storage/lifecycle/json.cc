#include "storage/lifecycle/json.h"

#include <google/protobuf/util/json_util.h>

#include <stdexcept>

namespace muster::storage {

std::string ToJson(const google::protobuf::Message& message) {
  std::string text;
  if (!google::protobuf::util::MessageToJsonString(message, &text).ok()) {
    throw std::runtime_error("A row cannot be written as JSON: " + message.GetTypeName());
  }
  return text;
}

void FromJson(absl::string_view text, google::protobuf::Message& message) {
  const google::protobuf::StringPiece piece(text.data(), text.size());
  if (!google::protobuf::util::JsonStringToMessage(piece, &message).ok()) {
    throw std::runtime_error("A jsonb column holds no " + message.GetTypeName());
  }
}

}  // namespace muster::storage
