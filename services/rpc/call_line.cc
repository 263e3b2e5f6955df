#include "services/rpc/call_line.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "services/rpc/limits.h"

namespace muster::rpc {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr absl::string_view kReadVerbs[] = {"Audit", "Check", "Compare", "Explain", "Find",
                                            "Get",   "List",  "Ping",    "Watch"};
// The fields that name what a message is about; the first that is set counts.
constexpr const char* kNameFields[] = {"name", "node", "pool", "pool_uid", "parent"};

bool IsString(const FieldDescriptor* field) {
  return field != nullptr && !field->is_repeated() &&
         field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
}

// What the message is about; empty: it does not say.
std::string NameOf(const Message& message) {
  for (const char* name : kNameFields) {
    const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
    if (!IsString(field)) continue;
    std::string value = message.GetReflection()->GetString(message, field);
    if (!value.empty()) return value;
  }
  return "";
}

void Add(std::string name, Subjects& subjects) {
  if (name.empty()) return;
  ++subjects.count;
  if (subjects.first.size() < kMaxSubjectsTold) subjects.first.push_back(std::move(name));
}

// Adds the entries of a batch: all are counted, but only the first kMaxSubjectsTold are looked
// into.
void AddEntries(const Message& message, const FieldDescriptor* field, Subjects& subjects) {
  const auto& reflection = *message.GetReflection();
  const int size = reflection.FieldSize(message, field);
  const int told = std::min(size, static_cast<int>(kMaxSubjectsTold));
  for (int i = 0; i < told; ++i)
    Add(NameOf(reflection.GetRepeatedMessage(message, field, i)), subjects);
  if (subjects.count > 0) subjects.count += static_cast<size_t>(size - told);
}

}  // namespace

CallKind KindOf(absl::string_view method) {
  method.remove_prefix(std::min(method.size(), method.rfind('/') + 1));
  const bool reads =
      std::any_of(std::begin(kReadVerbs), std::end(kReadVerbs),
                  [&](absl::string_view verb) { return absl::StartsWith(method, verb); });
  return reads ? CallKind::kRead : CallKind::kMutation;
}

log::Level LevelOf(CallKind kind, grpc::StatusCode code) {
  const bool read = kind == CallKind::kRead;
  switch (code) {
    case grpc::StatusCode::OK:
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::NOT_FOUND:
      return read ? log::Level::kDebug : log::Level::kInfo;
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::ALREADY_EXISTS:
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::OUT_OF_RANGE:
      return log::Level::kInfo;
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::UNIMPLEMENTED:
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DATA_LOSS:
    case grpc::StatusCode::DO_NOT_USE:
      return log::Level::kWarn;
  }
  return log::Level::kWarn;
}

bool IsOnlyTried(const Message& request) {
  const FieldDescriptor* field = request.GetDescriptor()->FindFieldByName("validate_only");
  return field != nullptr && field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL &&
         request.GetReflection()->GetBool(request, field);
}

Subjects SubjectsOf(const Message& request) {
  Subjects subjects;
  const auto& reflection = *request.GetReflection();
  const auto& type = *request.GetDescriptor();
  const FieldDescriptor* name = type.FindFieldByName("name");
  for (int i = 0; name == nullptr && i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (field->is_repeated()) {
      AddEntries(request, field, subjects);
    } else if (reflection.HasField(request, field)) {
      Add(NameOf(reflection.GetMessage(request, field)), subjects);
    }
    if (subjects.count > 0) return subjects;
  }
  Add(NameOf(request), subjects);
  return subjects;
}

}  // namespace muster::rpc
