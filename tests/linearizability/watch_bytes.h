#pragma once

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>

#include <string>

namespace muster::linearizability {

// A message's bytes, equal for equal messages, whatever the order of their maps.
inline std::string BytesOf(const google::protobuf::Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return bytes;
}

// The resource that a Watch response carries; null: none.
inline const google::protobuf::Message* ResourceOf(const google::protobuf::Message& response) {
  const auto* descriptor = response.GetDescriptor();
  const auto* reflection = response.GetReflection();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const auto* field = descriptor->field(i);
    if (field->is_repeated() || field->message_type() == nullptr) continue;
    if (reflection->HasField(response, field)) return &reflection->GetMessage(response, field);
  }
  return nullptr;
}

}  // namespace muster::linearizability
