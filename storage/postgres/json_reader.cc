#include <google/protobuf/descriptor.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/util/time_util.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "storage/postgres/json.h"

namespace muster::storage {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Timestamp;
using Element = simdjson::dom::element;
using ElementType = simdjson::dom::element_type;

void AppendVarint(uint64_t number, std::string& out) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(number | 0x80);
  out += static_cast<char>(number);
}
void AppendNumber(int field, uint64_t number, std::string& out) {
  AppendVarint(static_cast<uint64_t>(field) << 3, out);
  AppendVarint(number, out);
}
void AppendBytes(int field, absl::string_view bytes, std::string& out) {
  AppendVarint(static_cast<uint64_t>(field) << 3 | 2, out);
  AppendVarint(bytes.size(), out);
  out.append(bytes.data(), bytes.size());
}

bool IsTime(const FieldDescriptor& field) {
  return field.message_type() == Timestamp::descriptor();
}

bool PutWhole(const FieldDescriptor& field, int64_t value, std::string& out) {
  const bool fits = static_cast<int32_t>(value) == value;
  switch (field.type()) {
    case FieldDescriptor::TYPE_INT64:
      break;
    case FieldDescriptor::TYPE_INT32:
    case FieldDescriptor::TYPE_ENUM:
      if (!fits) return false;
      break;
    default:
      return false;
  }
  AppendNumber(field.number(), static_cast<uint64_t>(value), out);
  return true;
}

bool PutFraction(const FieldDescriptor& field, double value, std::string& out) {
  const bool is_whole = std::abs(value) < 1e15 && std::trunc(value) == value;
  return is_whole && PutWhole(field, static_cast<int64_t>(value), out);
}

bool PutText(const FieldDescriptor& field, absl::string_view text, std::string& out) {
  switch (field.type()) {
    case FieldDescriptor::TYPE_STRING:
      AppendBytes(field.number(), text, out);
      return true;
    case FieldDescriptor::TYPE_ENUM: {
      const auto* value = field.enum_type()->FindValueByName(std::string(text));
      // A later release's.
      if (value == nullptr) return true;
      return PutWhole(field, value->number(), out);
    }
    case FieldDescriptor::TYPE_INT64:
    case FieldDescriptor::TYPE_INT32: {
      int64_t number = 0;
      return absl::SimpleAtoi(text, &number) && PutWhole(field, number, out);
    }
    case FieldDescriptor::TYPE_MESSAGE: {
      Timestamp time;
      if (!IsTime(field) || !google::protobuf::util::TimeUtil::FromString(std::string(text), &time))
        return false;
      AppendBytes(field.number(), time.SerializeAsString(), out);
      return true;
    }
    default:
      return false;
  }
}

bool PutMessage(const Descriptor& type, const Element& value, std::string& out);

// One value of `field`, which may be a list of such.
bool PutValue(const FieldDescriptor& field, const Element& value, std::string& out) {
  switch (value.type()) {
    case ElementType::STRING:
      return PutText(field, absl::string_view(value.get_c_str(), value.get_string_length()), out);
    case ElementType::INT64:
      return PutWhole(field, value.get_int64(), out);
    case ElementType::DOUBLE:
      return PutFraction(field, value.get_double(), out);
    case ElementType::BOOL:
      if (field.type() != FieldDescriptor::TYPE_BOOL) return false;
      AppendNumber(field.number(), value.get_bool() ? 1 : 0, out);
      return true;
    case ElementType::OBJECT: {
      std::string message;
      if (field.message_type() == nullptr || IsTime(field) ||
          !PutMessage(*field.message_type(), value, message))
        return false;
      AppendBytes(field.number(), message, out);
      return true;
    }
    default:
      return false;
  }
}

bool PutMap(const FieldDescriptor& map, const Element& value, std::string& out) {
  simdjson::dom::object entries;
  if (value.get(entries) != simdjson::SUCCESS) return false;
  std::string entry;
  for (const auto& [key, of_key] : entries) {
    entry.clear();
    AppendBytes(1, absl::string_view(key.data(), key.size()), entry);
    if (!PutValue(*map.message_type()->map_value(), of_key, entry)) return false;
    AppendBytes(map.number(), entry, out);
  }
  return true;
}

bool PutList(const FieldDescriptor& field, const Element& value, std::string& out) {
  simdjson::dom::array values;
  if (value.get(values) != simdjson::SUCCESS) return false;
  return std::all_of(values.begin(), values.end(),
                     [&](const Element& element) { return PutValue(field, element, out); });
}

// A message as it is serialized. Each of these functions says whether the value is such a thing.
bool PutMessage(const Descriptor& type, const Element& value, std::string& out) {
  simdjson::dom::object fields;
  if (value.get(fields) != simdjson::SUCCESS) return false;
  std::string name;
  for (const auto& [key, element] : fields) {
    name.assign(key.data(), key.size());
    const FieldDescriptor* field = type.FindFieldByCamelcaseName(name);
    if (field == nullptr) field = type.FindFieldByName(name);
    // A later release's, or nothing.
    if (field == nullptr || element.is_null()) continue;
    const auto put = field->is_map() ? PutMap : field->is_repeated() ? PutList : PutValue;
    if (!put(*field, element, out)) return false;
  }
  return true;
}

}  // namespace

void FromJson(absl::string_view text, Message& message) {
  thread_local simdjson::dom::parser parser;  // keeps its buffers
  Element root;
  std::string bytes;
  if (parser.parse(text.data(), text.size()).get(root) != simdjson::SUCCESS ||
      !PutMessage(*message.GetDescriptor(), root, bytes) || !message.ParseFromString(bytes)) {
    throw std::runtime_error("A jsonb column holds no " + message.GetTypeName());
  }
}

}  // namespace muster::storage
