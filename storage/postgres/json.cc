#include "storage/postgres/json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/util/json_util.h>

#include <stdexcept>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "services/common/timestamp.h"

namespace muster::storage {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::Timestamp;

void AppendText(absl::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&out, "\\u%04x", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

void AppendMessage(const Message& message, std::string& out);

// A field's value; `index` is -1 unless the field is repeated.
void AppendValue(const Message& message, const FieldDescriptor& field, int index,
                 std::string& out) {
  const Reflection& reflection = *message.GetReflection();
  const bool one = index < 0;
  std::string scratch;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return AppendText(
          one ? reflection.GetStringReference(message, &field, &scratch)
              : reflection.GetRepeatedStringReference(message, &field, index, &scratch),
          out);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return AppendMessage(one ? reflection.GetMessage(message, &field)
                               : reflection.GetRepeatedMessage(message, &field, index),
                           out);
    case FieldDescriptor::CPPTYPE_INT64:
      absl::StrAppend(&out, "\"",
                      one ? reflection.GetInt64(message, &field)
                          : reflection.GetRepeatedInt64(message, &field, index),
                      "\"");
      return;
    case FieldDescriptor::CPPTYPE_INT32:
      absl::StrAppend(&out, one ? reflection.GetInt32(message, &field)
                                : reflection.GetRepeatedInt32(message, &field, index));
      return;
    case FieldDescriptor::CPPTYPE_BOOL:
      out += (one ? reflection.GetBool(message, &field)
                  : reflection.GetRepeatedBool(message, &field, index))
                 ? "true"
                 : "false";
      return;
    case FieldDescriptor::CPPTYPE_ENUM:
      return AppendText(one ? reflection.GetEnum(message, &field)->name()
                            : reflection.GetRepeatedEnum(message, &field, index)->name(),
                        out);
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      break;
  }
  throw std::runtime_error("A row cannot be written as JSON: " + field.full_name());
}

void AppendField(const Message& message, const FieldDescriptor& field, std::string& out) {
  if (!field.is_repeated()) return AppendValue(message, field, -1, out);
  const Reflection& reflection = *message.GetReflection();
  const int size = reflection.FieldSize(message, &field);
  out += field.is_map() ? '{' : '[';
  for (int i = 0; i < size; ++i) {
    if (i > 0) out += ',';
    if (!field.is_map()) {
      AppendValue(message, field, i, out);
      continue;
    }
    const Message& entry = reflection.GetRepeatedMessage(message, &field, i);
    AppendValue(entry, *entry.GetDescriptor()->map_key(), -1, out);
    out += ':';
    AppendValue(entry, *entry.GetDescriptor()->map_value(), -1, out);
  }
  out += field.is_map() ? '}' : ']';
}

void AppendMessage(const Message& message, std::string& out) {
  if (message.GetDescriptor() == Timestamp::descriptor()) {
    const auto& time = static_cast<const Timestamp&>(message);
    const absl::Time at = FromTimestamp(time);
    return AppendText(absl::FormatTime("%E4Y-%m-%dT%H:%M:%E*SZ", at, absl::UTCTimeZone()), out);
  }
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  out += '{';
  for (const FieldDescriptor* field : fields) {
    if (field != fields.front()) out += ',';
    absl::StrAppend(&out, "\"", field->json_name(), "\":");
    AppendField(message, *field, out);
  }
  out += '}';
}

}  // namespace

std::string ToJson(const Message& message) {
  std::string text;
  AppendMessage(message, text);
  return text;
}

void FromJson(absl::string_view text, Message& message) {
  const google::protobuf::StringPiece piece(text.data(), text.size());
  // Of a later release's fields what is to stay is in the column `later`.
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  if (!google::protobuf::util::JsonStringToMessage(piece, &message, options).ok()) {
    throw std::runtime_error("A jsonb column holds no " + message.GetTypeName());
  }
}

}  // namespace muster::storage
