#include <google/protobuf/descriptor.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/util/time_util.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "storage/postgres/json.h"

namespace muster::storage {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Timestamp;

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

// What is told of a text by nlohmann's parser becomes a message as it is serialized. Each function
// that it calls says whether to go on: false is that the text is no such message.
class MessageWriter {
 public:
  explicit MessageWriter(const Descriptor& type) : root_(&type) {}

  const std::string& bytes() const { return bytes_; }

  bool null() { return !frames_.empty(); }
  bool boolean(bool value) {
    return Put([&](const FieldDescriptor& field, std::string& out) {
      if (field.type() != FieldDescriptor::TYPE_BOOL) return false;
      AppendNumber(field.number(), value ? 1 : 0, out);
      return true;
    });
  }
  bool number_integer(int64_t value) { return PutNumber(value); }
  bool number_unsigned(uint64_t value) {
    return value <= INT64_MAX ? PutNumber(static_cast<int64_t>(value)) : IsPassedOver();
  }
  bool number_float(double value, const std::string&) {
    const bool whole = std::abs(value) < 1e15 && std::trunc(value) == value;
    return whole ? PutNumber(static_cast<int64_t>(value)) : IsPassedOver();
  }
  bool string(const std::string& text) {
    return Put(
        [&](const FieldDescriptor& field, std::string& out) { return PutText(field, text, out); });
  }
  bool binary(const nlohmann::json::binary_t&) { return false; }

  bool start_object(size_t) {
    if (frames_.empty()) {
      frames_.push_back({.type = root_});
      return true;
    }
    if (IsPassedOver()) return PassOver();
    Frame& in = frames_.back();
    const FieldDescriptor& field = *in.field;
    if (in.type != nullptr && field.is_map()) {
      frames_.push_back({.field = field.message_type()->map_value(), .map = &field});
      return true;
    }
    if (field.message_type() == nullptr || IsTime(field) || IsListMissing(in)) return false;
    frames_.push_back({.type = field.message_type()});
    return true;
  }
  bool key(const std::string& name) {
    if (passed_over_ > 0) return true;
    Frame& in = frames_.back();
    if (in.map != nullptr) {
      in.key = name;
    } else {
      in.field = in.type->FindFieldByCamelcaseName(name);
      if (in.field == nullptr) in.field = in.type->FindFieldByName(name);
    }
    return true;
  }
  bool end_object() {
    if (passed_over_ > 0) return ComeBack();
    Frame done = std::move(frames_.back());
    frames_.pop_back();
    if (frames_.empty()) {
      bytes_ = std::move(done.bytes);
      return true;
    }
    if (done.map != nullptr) {
      frames_.back().bytes += done.bytes;
      return true;
    }
    return Put([&](const FieldDescriptor& field, std::string& out) {
      AppendBytes(field.number(), done.bytes, out);
      return true;
    });
  }
  bool start_array(size_t) {
    if (frames_.empty()) return false;
    if (IsPassedOver()) return PassOver();
    Frame& in = frames_.back();
    if (in.map != nullptr || !in.field->is_repeated() || in.field->is_map() || in.in_list)
      return false;
    in.in_list = true;
    return true;
  }
  bool end_array() {
    if (passed_over_ > 0) return ComeBack();
    frames_.back().in_list = false;
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) { return false; }

 private:
  // An object that is being read: a message, or a map.
  struct Frame {
    const Descriptor* type = nullptr;        // of a message; null: a map
    const FieldDescriptor* field = nullptr;  // that is being read; null: none that is known
    const FieldDescriptor* map = nullptr;    // null: a message
    std::string key = {};                    // of a map's entry that is being read
    bool in_list = false;
    std::string bytes = {};
  };

  // What is being read is of a field that is not known, or within one.
  bool IsPassedOver() const {
    return passed_over_ > 0 || (!frames_.empty() && frames_.back().field == nullptr);
  }
  bool PassOver() {
    ++passed_over_;
    return true;
  }
  bool ComeBack() {
    --passed_over_;
    return true;
  }
  static bool IsListMissing(const Frame& in) {
    return in.map == nullptr && in.field->is_repeated() && !in.in_list;
  }

  // Adds a value of the field that is being read: `append(field, bytes)`.
  template <class Append>
  bool Put(Append append) {
    if (frames_.empty()) return false;
    if (IsPassedOver()) return true;
    Frame& in = frames_.back();
    if (IsListMissing(in)) return false;
    if (in.map == nullptr) return append(*in.field, in.bytes);
    std::string entry;
    AppendBytes(1, in.key, entry);
    if (!append(*in.field, entry)) return false;
    AppendBytes(in.map->number(), entry, in.bytes);
    return true;
  }

  bool PutNumber(int64_t value) {
    return Put([&](const FieldDescriptor& field, std::string& out) {
      return PutWhole(field, value, out);
    });
  }
  static bool PutWhole(const FieldDescriptor& field, int64_t value, std::string& out) {
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
  static bool PutText(const FieldDescriptor& field, const std::string& text, std::string& out) {
    switch (field.type()) {
      case FieldDescriptor::TYPE_STRING:
        AppendBytes(field.number(), text, out);
        return true;
      case FieldDescriptor::TYPE_ENUM: {
        const auto* value = field.enum_type()->FindValueByName(text);
        // A later release's.
        if (value != nullptr)
          AppendNumber(field.number(), static_cast<uint64_t>(value->number()), out);
        return true;
      }
      case FieldDescriptor::TYPE_INT64:
      case FieldDescriptor::TYPE_INT32: {
        int64_t number = 0;
        return absl::SimpleAtoi(text, &number) && PutWhole(field, number, out);
      }
      case FieldDescriptor::TYPE_MESSAGE: {
        Timestamp time;
        if (!IsTime(field) || !google::protobuf::util::TimeUtil::FromString(text, &time))
          return false;
        AppendBytes(field.number(), time.SerializeAsString(), out);
        return true;
      }
      default:
        return false;
    }
  }

  const Descriptor* const root_;
  std::vector<Frame> frames_;  // the outermost first
  int passed_over_ = 0;        // objects and lists that are open within one that is passed over
  std::string bytes_;
};

}  // namespace

void FromJson(absl::string_view text, Message& message) {
  MessageWriter writer(*message.GetDescriptor());
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &writer) ||
      !message.ParseFromString(writer.bytes())) {
    throw std::runtime_error("A jsonb column holds no " + message.GetTypeName());
  }
}

}  // namespace muster::storage
