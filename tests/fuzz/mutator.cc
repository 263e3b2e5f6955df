#include "tests/fuzz/mutator.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

namespace muster::testing {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr int kDeepest = 4;

// Collects all texts of a message.
void Collect(const Message& message, std::set<std::string>& texts) {
  std::vector<const FieldDescriptor*> fields;
  const Reflection& reflection = *message.GetReflection();
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        Collect(field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                     : reflection.GetMessage(message, field),
                texts);
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
        texts.insert(field->is_repeated() ? reflection.GetRepeatedString(message, field, i)
                                          : reflection.GetString(message, field));
      }
    }
  }
}

}  // namespace

CallMutator::CallMutator(const google::protobuf::ServiceDescriptor* service, const Seeds& seeds,
                         MutateBytes mutate_bytes)
    : service_(*service), mutate_bytes_(std::move(mutate_bytes)), seeds_(seeds.calls) {
  seeds_.insert(seeds_.end(), seeds.world.begin(), seeds.world.end());
  std::set<std::string> texts = {""};
  for (const FuzzCall& call : seeds_) {
    const auto request = NewRequest(*call.method);
    request->ParseFromString(call.request);
    Collect(*request, texts);
  }
  texts_.assign(texts.begin(), texts.end());
}

void CallMutator::Mutate(std::vector<FuzzCall>& calls, uint64_t seed) {
  random_.seed(seed);
  if (calls.empty() || (calls.size() < kMostCalls && OneIn(4))) {
    const auto at = calls.begin() + static_cast<std::ptrdiff_t>(Below(calls.size() + 1));
    calls.insert(at, seeds_[Below(seeds_.size())]);
    return;
  }
  const size_t chosen = Below(calls.size());
  if (OneIn(12)) {
    calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(chosen));
  } else if (OneIn(12)) {
    std::swap(calls[chosen], calls[Below(calls.size())]);
  } else {
    for (size_t changes = 1 + Below(3); changes > 0; --changes) MutateRequest(calls[chosen]);
  }
}

void CallMutator::MutateRequest(FuzzCall& call) {
  const auto request = NewRequest(*call.method);
  if (OneIn(20) || !request->ParseFromString(call.request))
    return mutate_bytes_(call.request, call.request.size() + 64);
  MutateMessage(*request, 0);
  call.request = request->SerializeAsString();
}

void CallMutator::MutateMessage(Message& message, int depth) {
  const auto& type = *message.GetDescriptor();
  const Reflection& reflection = *message.GetReflection();
  if (type.field_count() == 0) return;
  // Mostly a field that is set already.
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  const FieldDescriptor* field =
      fields.empty() || OneIn(3)
          ? type.field(static_cast<int>(Below(static_cast<size_t>(type.field_count()))))
          : fields[Below(fields.size())];
  const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  if (OneIn(10)) return reflection.ClearField(&message, field);
  if (!field->is_repeated()) {
    if (is_message && depth < kDeepest)
      return MutateMessage(*reflection.MutableMessage(&message, field), depth + 1);
    return is_message ? void() : SetField(message, *field, depth);
  }
  const int count = reflection.FieldSize(message, field);
  if (count == 0 || (OneIn(3) && count < 64)) return SetField(message, *field, depth);
  const int chosen = static_cast<int>(Below(static_cast<size_t>(count)));
  if (is_message && !OneIn(6))
    return MutateMessage(*reflection.MutableRepeatedMessage(&message, field, chosen), depth + 1);
  reflection.SwapElements(&message, field, chosen, count - 1);
  if (!OneIn(3)) reflection.RemoveLast(&message, field);
}

// Sets the field; a repeated one gets one more entry.
void CallMutator::SetField(Message& message, const FieldDescriptor& field, int depth) {
  const Reflection& reflection = *message.GetReflection();
  const auto set = [&](auto set_one, auto add_one, auto value) {
    (reflection.*(field.is_repeated() ? add_one : set_one))(&message, &field, std::move(value));
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return set(&Reflection::SetInt32, &Reflection::AddInt32, static_cast<int32_t>(SomeNumber()));
    case FieldDescriptor::CPPTYPE_INT64:
      return set(&Reflection::SetInt64, &Reflection::AddInt64, SomeNumber());
    case FieldDescriptor::CPPTYPE_UINT32:
      return set(&Reflection::SetUInt32, &Reflection::AddUInt32,
                 static_cast<uint32_t>(SomeNumber()));
    case FieldDescriptor::CPPTYPE_UINT64:
      return set(&Reflection::SetUInt64, &Reflection::AddUInt64,
                 static_cast<uint64_t>(SomeNumber()));
    case FieldDescriptor::CPPTYPE_BOOL:
      return set(&Reflection::SetBool, &Reflection::AddBool, OneIn(2));
    case FieldDescriptor::CPPTYPE_ENUM:
      return set(
          &Reflection::SetEnumValue, &Reflection::AddEnumValue,
          static_cast<int>(Below(static_cast<size_t>(field.enum_type()->value_count()) + 1)));
    case FieldDescriptor::CPPTYPE_STRING:
      return set(&Reflection::SetString, &Reflection::AddString, SomeText());
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (depth >= kDeepest || !field.is_repeated()) return;
      return MutateMessage(*reflection.AddMessage(&message, &field), depth + 1);
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return;  // no request has one
  }
}

std::string CallMutator::SomeText() {
  std::string text = texts_[Below(texts_.size())];
  if (OneIn(4)) mutate_bytes_(text, text.size() + 16);
  return text;
}

int64_t CallMutator::SomeNumber() {
  constexpr int64_t kSome[] = {0,
                               1,
                               2,
                               3,
                               7,
                               16,
                               63,
                               64,
                               999,
                               1000,
                               1001,
                               100'000,
                               1'000'000,
                               int64_t{1} << 31,
                               int64_t{1} << 32,
                               (int64_t{1} << 62) + 1,
                               std::numeric_limits<int64_t>::max()};
  const int64_t number =
      OneIn(4) ? static_cast<int64_t>(Below(20)) : kSome[Below(std::size(kSome))];
  return OneIn(8) ? -number : number;
}

}  // namespace muster::testing
