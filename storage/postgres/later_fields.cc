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

// With parts of their own: a time, or another of the well-known types, is one value.
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

// Whether anything stands in it that is known, but for messages of which nothing is.
bool HasKnown(const Message& message) {
  const Reflection& reflection = *message.GetReflection();
  const std::vector<const FieldDescriptor*> fields = SetFields(message);
  return std::any_of(fields.begin(), fields.end(), [&](const FieldDescriptor* field) {
    return !IsMessage(*field) || HasKnown(reflection.GetMessage(message, field));
  });
}

// Leaves in `later` what is to be merged, and clears in `message` what that replaces.
void Prepare(Message& later, Message& message) {
  const Reflection& reflection = *later.GetReflection();
  for (const FieldDescriptor* field : SetFields(later)) {
    if (IsMessage(*field) && reflection.HasField(message, field)) {
      Prepare(*reflection.MutableMessage(&later, field),
              *reflection.MutableMessage(&message, field));
    } else if (!IsMessage(*field) || HasKnown(reflection.GetMessage(later, field))) {
      reflection.ClearField(&message, field);
    } else {
      reflection.ClearField(&later, field);
    }
  }
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

bool MergeLater(absl::string_view later, Message& message) {
  const std::unique_ptr<Message> told(message.New());
  if (!told->ParseFromArray(later.data(), static_cast<int>(later.size()))) return false;
  Prepare(*told, message);
  message.MergeFrom(*told);
  return true;
}

}  // namespace muster::storage
