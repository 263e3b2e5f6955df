#include "services/rpc/field_path.h"

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "services/common/status_macros.h"

namespace muster::rpc {
namespace {

namespace pb = google::protobuf;

std::vector<std::string> NamesOf(const pb::Descriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  return names;
}

bool IsTime(const pb::FieldDescriptor& field) {
  return field.message_type() != nullptr &&
         field.message_type()->full_name() == "google.protobuf.Timestamp";
}

bool IsDuration(const pb::FieldDescriptor& field) {
  return field.message_type() != nullptr &&
         field.message_type()->full_name() == "google.protobuf.Duration";
}

// Whether it is of messages that are no values themselves.
bool HasFields(const pb::FieldDescriptor& field) {
  return field.message_type() != nullptr && !IsTime(field) && !IsDuration(field);
}

// The field by which the elements of a list of messages are told apart, as those of conditions are;
// null: none.
const pb::FieldDescriptor* TypeOf(const pb::FieldDescriptor& list) {
  const pb::FieldDescriptor* type = list.message_type()->FindFieldByName("type");
  return type != nullptr && type->cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING ? type
                                                                                    : nullptr;
}

// `STATE_` of STATE_UNSPECIFIED, STATE_FREE.
std::string PrefixOf(const pb::EnumDescriptor& type) {
  return std::string(absl::StripSuffix(type.value(0)->name(), "UNSPECIFIED"));
}

// Whether the entries of a list or map are told apart by a text.
bool IsKeyed(const pb::FieldDescriptor& field) {
  if (field.is_map())
    return field.message_type()->map_key()->cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING;
  return field.message_type() != nullptr && TypeOf(field) != nullptr;
}

absl::Status Wrong(const std::string& text, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("`", text, "` is not ", what));
}

// A value by its name, with or without the prefix of the enum.
absl::StatusOr<FieldValue> ParseEnum(const pb::EnumDescriptor& type, const std::string& text) {
  const std::string prefix = PrefixOf(type);
  const auto* value = type.FindValueByName(text);
  if (value == nullptr) value = type.FindValueByName(prefix + text);
  if (value != nullptr) return FieldValue(value->name());
  std::vector<std::string> names;
  for (int i = 1; i < type.value_count(); ++i)
    names.emplace_back(absl::StripPrefix(type.value(i)->name(), prefix));
  return Wrong(text, absl::StrCat("one of ", absl::StrJoin(names, ", ")));
}

const pb::Message* ElementOf(const pb::Message& message, const pb::FieldDescriptor* list,
                             const std::string& type) {
  const pb::Reflection& reflection = *message.GetReflection();
  const pb::FieldDescriptor* named = TypeOf(*list);
  for (int i = 0; i < reflection.FieldSize(message, list); ++i) {
    const pb::Message& element = reflection.GetRepeatedMessage(message, list, i);
    if (element.GetReflection()->GetString(element, named) == type) return &element;
  }
  return nullptr;
}

// Of a map, whose entries are messages with a key and a value.
const pb::Message* EntryOf(const pb::Message& message, const pb::FieldDescriptor* map,
                           const std::string& key) {
  const pb::Reflection& reflection = *message.GetReflection();
  const pb::FieldDescriptor* named = map->message_type()->map_key();
  for (int i = 0; i < reflection.FieldSize(message, map); ++i) {
    const pb::Message& entry = reflection.GetRepeatedMessage(message, map, i);
    if (entry.GetReflection()->GetString(entry, named) == key) return &entry;
  }
  return nullptr;
}

absl::Time TimeOf(const pb::Message& message) {
  const auto& time = static_cast<const pb::Timestamp&>(message);
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

absl::Duration DurationOf(const pb::Message& message) {
  const auto& duration = static_cast<const pb::Duration&>(message);
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

}  // namespace

absl::StatusOr<FieldPath> FieldPath::Resolve(const pb::Descriptor& type,
                                             absl::Span<const std::string> segments) {
  FieldPath path;
  if (std::any_of(segments.begin(), segments.end(), [](const auto& part) { return part.empty(); }))
    return absl::InvalidArgumentError(
        absl::StrCat("`", absl::StrJoin(segments, "."), "` has a part that is empty"));
  const pb::Descriptor* at = &type;
  for (size_t i = 0; i < segments.size(); ++i) {
    if (at == nullptr)
      return absl::InvalidArgumentError(absl::StrCat(
          "`", absl::StrJoin(segments.subspan(0, i), "."), "` is a value and has no fields"));
    const pb::FieldDescriptor* field = at->FindFieldByName(segments[i]);
    if (field == nullptr)
      return absl::InvalidArgumentError(
          absl::StrCat("`", absl::StrJoin(segments.subspan(0, i + 1), "."),
                       "` is no field; there are: ", absl::StrJoin(NamesOf(*at), ", ")));
    if (field->is_repeated() && i + 1 < segments.size()) {
      RETURN_IF_ERROR(path.AddKeyed(*field, segments, ++i));
    } else {
      path.steps_.push_back({field});
    }
    path.field_ = path.steps_.back().field;
    at = HasFields(*path.field_) ? path.field_->message_type() : nullptr;
  }
  if (path.field_ == nullptr) return absl::InvalidArgumentError("a path is missing");
  path.is_many_ = path.steps_.back().key.empty() && path.field_->is_repeated();
  path.has_fields_ = HasFields(*path.field_);
  path.is_time_ = IsTime(*path.field_);
  path.is_duration_ = IsDuration(*path.field_);
  path.is_keyed_ = path.is_many_ && IsKeyed(*path.field_);
  return path;
}

absl::Status FieldPath::AddKeyed(const pb::FieldDescriptor& field,
                                 absl::Span<const std::string> segments, size_t key) {
  if (!IsKeyed(field)) {
    return absl::InvalidArgumentError(
        absl::StrCat("`", absl::StrJoin(segments.subspan(0, key), "."), "` is a list; only `",
                     HasFields(field) ? ":*" : ":", "` asks it"));
  }
  steps_.push_back({&field, segments[key]});
  if (field.is_map()) {
    steps_.push_back({field.message_type()->map_value()});
  } else if (key + 1 == segments.size()) {
    // A path that ends at a condition's type means its status.
    const pb::FieldDescriptor* status = field.message_type()->FindFieldByName("status");
    if (status == nullptr)
      return absl::InvalidArgumentError(
          absl::StrCat("`", absl::StrJoin(segments, "."), "` is an element and no value"));
    steps_.push_back({status});
  }
  return absl::OkStatus();
}

absl::StatusOr<FieldValue> FieldPath::ParseValue(const std::string& text) const {
  if (is_time_) {
    absl::Time time;
    std::string error;
    if (!absl::ParseTime(absl::RFC3339_full, text, &time, &error))
      return Wrong(text, "a time such as 2026-01-31T09:00:00Z");
    return FieldValue(time);
  }
  if (is_duration_) {
    absl::Duration duration;
    if (!absl::ParseDuration(text, &duration)) return Wrong(text, "a duration such as 90s");
    return FieldValue(duration);
  }
  switch (field_->cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_STRING:
      return FieldValue(text);
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      if (text != "true" && text != "false") return Wrong(text, "true or false");
      return FieldValue(text == "true");
    case pb::FieldDescriptor::CPPTYPE_DOUBLE:
    case pb::FieldDescriptor::CPPTYPE_FLOAT: {
      double number = 0;
      if (!absl::SimpleAtod(text, &number)) return Wrong(text, "a number");
      return FieldValue(number);
    }
    case pb::FieldDescriptor::CPPTYPE_ENUM:
      return ParseEnum(*field_->enum_type(), text);
    default: {
      int64_t number = 0;
      if (!absl::SimpleAtoi(text, &number)) return Wrong(text, "a whole number");
      return FieldValue(number);
    }
  }
}

FieldValue FieldPath::Zero() const {
  if (is_time_) return absl::InfinitePast();
  if (is_duration_) return absl::ZeroDuration();
  switch (field_->cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_STRING:
      return std::string();
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      return false;
    case pb::FieldDescriptor::CPPTYPE_DOUBLE:
    case pb::FieldDescriptor::CPPTYPE_FLOAT:
      return 0.0;
    case pb::FieldDescriptor::CPPTYPE_ENUM:
      return field_->enum_type()->value(0)->name();
    default:
      return int64_t{0};
  }
}

// `index`: the element of a list; -1: the field is not a list.
FieldValue FieldPath::ValueIn(const pb::Message& message, int index) const {
  const pb::Reflection& in = *message.GetReflection();
  const bool one = index < 0;
  if (is_time_)
    return TimeOf(one ? in.GetMessage(message, field_)
                      : in.GetRepeatedMessage(message, field_, index));
  if (is_duration_)
    return DurationOf(one ? in.GetMessage(message, field_)
                          : in.GetRepeatedMessage(message, field_, index));
  switch (field_->cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_STRING:
      return one ? in.GetString(message, field_) : in.GetRepeatedString(message, field_, index);
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      return one ? in.GetBool(message, field_) : in.GetRepeatedBool(message, field_, index);
    case pb::FieldDescriptor::CPPTYPE_ENUM:
      return one ? in.GetEnum(message, field_)->name()
                 : in.GetRepeatedEnum(message, field_, index)->name();
    case pb::FieldDescriptor::CPPTYPE_INT32:
      return int64_t{one ? in.GetInt32(message, field_)
                         : in.GetRepeatedInt32(message, field_, index)};
    case pb::FieldDescriptor::CPPTYPE_INT64:
      return one ? in.GetInt64(message, field_) : in.GetRepeatedInt64(message, field_, index);
    case pb::FieldDescriptor::CPPTYPE_UINT32:
      return int64_t{one ? in.GetUInt32(message, field_)
                         : in.GetRepeatedUInt32(message, field_, index)};
    case pb::FieldDescriptor::CPPTYPE_UINT64:
      return static_cast<int64_t>(one ? in.GetUInt64(message, field_)
                                      : in.GetRepeatedUInt64(message, field_, index));
    case pb::FieldDescriptor::CPPTYPE_DOUBLE:
      return one ? in.GetDouble(message, field_) : in.GetRepeatedDouble(message, field_, index);
    case pb::FieldDescriptor::CPPTYPE_FLOAT:
      return double{one ? in.GetFloat(message, field_)
                        : in.GetRepeatedFloat(message, field_, index)};
    case pb::FieldDescriptor::CPPTYPE_MESSAGE:
      break;  // is_value() says no
  }
  return Zero();
}

const pb::Message* FieldPath::Walk(const pb::Message& message) const {
  const pb::Message* at = &message;
  for (size_t i = 0; i + 1 < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const pb::Reflection& in = *at->GetReflection();
    if (step.key.empty()) {
      if (!in.HasField(*at, step.field)) return nullptr;
      at = &in.GetMessage(*at, step.field);
    } else {
      at = step.field->is_map() ? EntryOf(*at, step.field, step.key)
                                : ElementOf(*at, step.field, step.key);
      if (at == nullptr) return nullptr;
    }
  }
  return at;
}

FieldValue FieldPath::Get(const pb::Message& message) const {
  const pb::Message* in = Walk(message);
  if (in == nullptr) return Zero();
  const bool missing = field_->has_presence() && !in->GetReflection()->HasField(*in, field_);
  return missing ? Zero() : ValueIn(*in, -1);
}

bool FieldPath::IsSet(const pb::Message& message) const {
  const pb::Message* in = Walk(message);
  if (in == nullptr) return false;
  const pb::Reflection& reflection = *in->GetReflection();
  return field_->is_repeated() ? reflection.FieldSize(*in, field_) > 0
                               : reflection.HasField(*in, field_);
}

bool FieldPath::Has(const pb::Message& message, const std::string& text) const {
  const pb::Message* in = Walk(message);
  if (in == nullptr) return false;
  if (field_->is_map()) return EntryOf(*in, field_, text) != nullptr;
  if (has_fields_) return is_keyed_ && ElementOf(*in, field_, text) != nullptr;
  const absl::StatusOr<FieldValue> wanted = ParseValue(text);
  if (!wanted.ok()) return false;
  for (int i = 0; i < in->GetReflection()->FieldSize(*in, field_); ++i)
    if (ValueIn(*in, i) == *wanted) return true;
  return false;
}

}  // namespace muster::rpc
