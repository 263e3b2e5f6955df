#include "storage/postgres/later_fields.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace muster::storage {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::vector<const FieldDescriptor*> SetFields(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  return fields;
}

// Whether the field is a submessage that is merged by parts. A well-known type, such as a time, is
// one value.
bool IsMessage(const FieldDescriptor& field) {
  return !field.is_repeated() && field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
         field.message_type()->well_known_type() == Descriptor::WELLKNOWNTYPE_UNSPECIFIED;
}

bool HasUnknown(const Message& message) {
  const Reflection& reflection = *message.GetReflection();
  if (!reflection.GetUnknownFields(message).empty()) return true;
  const std::vector<const FieldDescriptor*> fields = SetFields(message);
  return std::any_of(fields.begin(), fields.end(), [&](const FieldDescriptor* field) {
    return IsMessage(*field) && HasUnknown(reflection.GetMessage(message, field));
  });
}

void ClearKnown(Message& message) {
  const Reflection& reflection = *message.GetReflection();
  for (const FieldDescriptor* field : SetFields(message)) {
    if (IsMessage(*field) && HasUnknown(reflection.GetMessage(message, field))) {
      ClearKnown(*reflection.MutableMessage(&message, field));
    } else {
      reflection.ClearField(&message, field);
    }
  }
}

// Whether a known field is set, other than submessages in which none is.
bool HasKnown(const Message& message) {
  const Reflection& reflection = *message.GetReflection();
  const std::vector<const FieldDescriptor*> fields = SetFields(message);
  return std::any_of(fields.begin(), fields.end(), [&](const FieldDescriptor* field) {
    return !IsMessage(*field) || HasKnown(reflection.GetMessage(message, field));
  });
}

bool IsUnknown(const Message& message) { return HasUnknown(message) && !HasKnown(message); }

// The submessage `field`, made if it is missing. Null: it is missing, and making it would change
// the reading.
Message* FindOrMake(const FieldDescriptor& field, Message& message, LaterReading reading) {
  const Reflection& reflection = *message.GetReflection();
  if (reflection.HasField(message, &field)) return reflection.MutableMessage(&message, &field);
  const std::string before = reading();
  Message* const within = reflection.MutableMessage(&message, &field);
  if (reading() == before) return within;
  reflection.ClearField(&message, &field);
  return nullptr;
}

// Moves what is in `later` to its place in `message`.
void Merge(Message& later, Message& message, LaterReading reading) {
  const Reflection& reflection = *later.GetReflection();
  for (const FieldDescriptor* field : SetFields(later)) {
    const bool in_parts = IsMessage(*field) && (reflection.HasField(message, field) ||
                                                IsUnknown(reflection.GetMessage(later, field)));
    if (!in_parts) {
      reflection.SwapFields(&message, &later, {field});
    } else if (Message* within = FindOrMake(*field, message, reading)) {
      Merge(*reflection.MutableMessage(&later, field), *within, reading);
    }
  }
  reflection.MutableUnknownFields(&message)->MergeFrom(reflection.GetUnknownFields(later));
}

}  // namespace

std::string UnknownFieldsOf(const Message& message) {
  if (!HasUnknown(message)) return "";
  const std::unique_ptr<Message> unknown(message.New());
  unknown->CopyFrom(message);
  ClearKnown(*unknown);
  return unknown->SerializeAsString();
}

std::string FieldsOf(const Message& message, absl::Span<const std::string> names) {
  const std::unique_ptr<Message> some(message.New());
  some->CopyFrom(message);
  const Reflection& reflection = *some->GetReflection();
  reflection.MutableUnknownFields(some.get())->Clear();
  for (const FieldDescriptor* field : SetFields(*some)) {
    if (std::find(names.begin(), names.end(), field->name()) == names.end())
      reflection.ClearField(some.get(), field);
  }
  return some->SerializeAsString();
}

bool MergeLater(absl::string_view later, Message& message, LaterReading reading) {
  const std::unique_ptr<Message> told(message.New());
  if (!told->ParseFromArray(later.data(), static_cast<int>(later.size()))) return false;
  Merge(*told, message, reading);
  return true;
}

}  // namespace muster::storage
