#include "storage/postgres/json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/timestamp.pb.h>

#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "services/common/timestamp.h"

// Goes by the message as it is serialized: reflection would make a list of every map first.
namespace muster::storage {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Timestamp;
using google::protobuf::io::CodedInputStream;

[[noreturn]] void Refuse(const FieldDescriptor& field) {
  throw std::runtime_error("A row cannot be written as JSON: " + field.full_name());
}

void AppendText(absl::string_view text, std::string& out) {
  out += '"';
  size_t written = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text.data() + written, i - written);
    written = i + 1;
    if (c < 0x20) {
      absl::StrAppendFormat(&out, "\\u%04x", static_cast<unsigned>(c));
    } else {
      out += '\\';
      out += text[i];
    }
  }
  out.append(text.data() + written, text.size() - written);
  out += '"';
}

// What a field holds, as it is serialized: one of the two.
struct Value {
  uint64_t number = 0;
  absl::string_view bytes = {};
};

// Reads a serialized message field by field.
class Fields {
 public:
  explicit Fields(absl::string_view bytes)
      : in_(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size())) {}

  // The number of the next one; 0: there is none.
  int Next(Value& value) {
    const uint32_t tag = in_.ReadTagNoLastTag();
    if (tag == 0) return 0;
    value = {};
    switch (tag & 7) {
      case 0:  // a varint
        in_.ReadVarint64(&value.number);
        break;
      case 1:
        in_.Skip(8);
        break;
      case 5:
        in_.Skip(4);
        break;
      default:
        value.bytes = Bytes();
    }
    return static_cast<int>(tag >> 3);
  }

 private:
  absl::string_view Bytes() {
    uint32_t size = 0;
    const void* data = nullptr;
    int left = 0;
    if (!in_.ReadVarint32(&size) || size == 0 || !in_.GetDirectBufferPointer(&data, &left))
      return "";
    in_.Skip(static_cast<int>(size));
    return {static_cast<const char*>(data), size};
  }

  CodedInputStream in_;
};

void AppendMessage(const Descriptor& type, absl::string_view bytes, std::string& out);

void AppendValue(const FieldDescriptor& field, const Value& value, std::string& out) {
  switch (field.type()) {
    case FieldDescriptor::TYPE_STRING:
      return AppendText(value.bytes, out);
    case FieldDescriptor::TYPE_MESSAGE:
      return AppendMessage(*field.message_type(), value.bytes, out);
    case FieldDescriptor::TYPE_INT64:
      return absl::StrAppend(&out, "\"", static_cast<int64_t>(value.number), "\"");
    case FieldDescriptor::TYPE_INT32:
      return absl::StrAppend(&out, static_cast<int32_t>(value.number));
    case FieldDescriptor::TYPE_BOOL:
      out += value.number != 0 ? "true" : "false";
      return;
    case FieldDescriptor::TYPE_ENUM: {
      const auto number = static_cast<int32_t>(value.number);
      const auto* named = field.enum_type()->FindValueByNumber(number);
      return named == nullptr ? absl::StrAppend(&out, number) : AppendText(named->name(), out);
    }
    default:
      Refuse(field);
  }
}

void AppendEntry(const FieldDescriptor& map, absl::string_view bytes, std::string& out) {
  const FieldDescriptor& key = *map.message_type()->map_key();
  if (key.type() != FieldDescriptor::TYPE_STRING) Refuse(map);
  Value parts[2];
  Value part;
  Fields fields(bytes);
  for (int number = fields.Next(part); number != 0; number = fields.Next(part)) {
    if (number <= 2) parts[number - 1] = part;
  }
  AppendText(parts[0].bytes, out);
  out += ':';
  AppendValue(*map.message_type()->map_value(), parts[1], out);
}

void AppendElement(const FieldDescriptor& field, const Value& value, std::string& out) {
  if (field.is_map()) return AppendEntry(field, value.bytes, out);
  if (!field.is_packed()) return AppendValue(field, value, out);
  CodedInputStream in(reinterpret_cast<const uint8_t*>(value.bytes.data()),
                      static_cast<int>(value.bytes.size()));
  Value element;
  for (bool first = true; in.ReadVarint64(&element.number); first = false) {
    if (!first) out += ',';
    AppendValue(field, element, out);
  }
}

void AppendTime(absl::string_view bytes, std::string& out) {
  Timestamp time;
  time.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  AppendText(absl::FormatTime("%E4Y-%m-%dT%H:%M:%E*SZ", FromTimestamp(time), absl::UTCTimeZone()),
             out);
}

// The elements of a list or a map follow each other.
void AppendMessage(const Descriptor& type, absl::string_view bytes, std::string& out) {
  if (&type == Timestamp::descriptor()) return AppendTime(bytes, out);
  const FieldDescriptor* last = nullptr;
  const auto close = [&] {
    if (last != nullptr && last->is_repeated()) out += last->is_map() ? '}' : ']';
  };
  out += '{';
  Value value;
  Fields fields(bytes);
  for (int number = fields.Next(value); number != 0; number = fields.Next(value)) {
    const FieldDescriptor* field = type.FindFieldByNumber(number);
    if (field == nullptr) continue;
    if (field != last) {
      close();
      if (last != nullptr) out += ',';
      absl::StrAppend(&out, "\"", field->json_name(), "\":");
      if (field->is_repeated()) out += field->is_map() ? '{' : '[';
    } else {
      out += ',';
    }
    AppendElement(*field, value, out);
    last = field;
  }
  close();
  out += '}';
}

}  // namespace

std::string ToJson(const Message& message) {
  const std::string bytes = message.SerializeAsString();
  std::string text;
  text.reserve(2 * bytes.size());
  AppendMessage(*message.GetDescriptor(), bytes, text);
  return text;
}

}  // namespace muster::storage
