#include "tests/hostile/worst_requests.h"

#include <google/protobuf/wire_format_lite.h>
#include <muster/access/v1/access_service.pb.h>
#include <muster/capacity/v1/capacity_service.pb.h>
#include <muster/configuration/v1/configuration_service.pb.h>
#include <muster/debug/v1/debug_service.pb.h>
#include <muster/history/v1/history_service.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.pb.h>
#include <muster/quota/v1/quota_service.pb.h>

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "services/rpc/limits.h"

namespace muster::testing {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;
using google::protobuf::internal::WireFormatLite;
using Path = std::vector<const FieldDescriptor*>;

std::string Varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}

std::string Tag(const FieldDescriptor& field, WireFormatLite::WireType type) {
  return Varint(WireFormatLite::MakeTag(field.number(), type));
}

// One entry of a field that has a length.
std::string Entry(const FieldDescriptor& field, absl::string_view content) {
  return absl::StrCat(Tag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED), Varint(content.size()),
                      content);
}

std::string Repeat(absl::string_view text, size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i) out.append(text.data(), text.size());
  return out;
}

// The smallest entry that a list can have.
std::string Smallest(const FieldDescriptor& field) {
  const bool has_length = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE ||
                          field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  return has_length ? Entry(field, "") : Tag(field, WireFormatLite::WIRETYPE_VARINT) + Varint(1);
}

// Within messages that stand in each other as the path says, once each.
std::string Wrapped(const Path& path, std::string content) {
  for (size_t i = path.size() - 1; i-- > 0;) content = Entry(*path[i], content);
  return content;
}

// A number that comes as a text, if the message has one: parsers go on behind it, and so do bounds.
std::string NumberAsText(const Descriptor& type) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const bool is_number = field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE &&
                           field.cpp_type() != FieldDescriptor::CPPTYPE_STRING;
    if (is_number && !field.is_repeated()) return Entry(field, "\xff");
  }
  return "";
}

// As many small entries as there is room for; of a text, as many bytes.
std::string Over(const Path& path, size_t room) {
  const FieldDescriptor& last = *path.back();
  if (!last.is_repeated()) return Wrapped(path, Entry(last, std::string(room, '/')));
  const std::string entry = Smallest(last);
  return Wrapped(path, NumberAsText(*last.containing_type()) + Repeat(entry, room / entry.size()));
}

// The same within the bounds: lists on the way as long as they may be, as long as there is room.
std::string Within(const Path& path, size_t room) {
  const FieldDescriptor& last = *path.back();
  std::string content = last.is_repeated()
                            ? Repeat(Smallest(last), rpc::kMaxEntries)
                            : Entry(last, std::string(std::min(rpc::kMaxStringBytes, room), '/'));
  size_t entries = last.is_repeated() ? rpc::kMaxEntries : 1;
  for (size_t i = path.size() - 1; i-- > 0;) {
    const std::string entry = Entry(*path[i], content);
    size_t times = 1;
    if (path[i]->is_repeated()) {
      times = std::min<size_t>(
          {rpc::kMaxEntries, room / entry.size(), rpc::kMaxRequestEntries / (entries + 1)});
      times = std::max<size_t>(times, 1);
    }
    content = Repeat(entry, times);
    entries = (entries + 1) * times;
  }
  return content;
}

void Collect(const Descriptor& type, Path& path, std::set<const Descriptor*>& open,
             std::vector<Path>& out) {
  if (!open.insert(&type).second) return;  // one that holds itself
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    path.push_back(field);
    if (field->is_repeated() || field->cpp_type() == FieldDescriptor::CPPTYPE_STRING)
      out.push_back(path);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field->is_map())
      Collect(*field->message_type(), path, open, out);
    path.pop_back();
  }
  open.erase(&type);
}

std::string NameOf(const Path& path) {
  return absl::StrJoin(path, ".", [](std::string* out, const FieldDescriptor* field) {
    absl::StrAppend(out, field->name());
  });
}

}  // namespace

std::vector<const ServiceDescriptor*> MusterServices() {
  // Named by a message of each, so that the linker keeps its descriptors.
  return {access::v1::GetCallerRequest::GetDescriptor()->file()->service(0),
          capacity::v1::GetZoneRequest::GetDescriptor()->file()->service(0),
          configuration::v1::GetReleaseRequest::GetDescriptor()->file()->service(0),
          debug::v1::PingRequest::GetDescriptor()->file()->service(0),
          history::v1::GetPastRequest::GetDescriptor()->file()->service(0),
          lifecycle::v1::GetNodePoolRequest::GetDescriptor()->file()->service(0),
          quota::v1::GetQuotaRequest::GetDescriptor()->file()->service(0)};
}

bool IsForOperators(absl::string_view method) {
  return absl::StartsWith(method, "/muster.debug.v1.DebugService/");
}

std::vector<WorstRequest> WorstRequests(const std::vector<const ServiceDescriptor*>& services,
                                        size_t most_bytes) {
  constexpr size_t kForTags = 64;  // of all messages on the way
  std::vector<WorstRequest> requests;
  for (const ServiceDescriptor* service : services) {
    for (int i = 0; i < service->method_count(); ++i) {
      const MethodDescriptor& method = *service->method(i);
      const std::string name = absl::StrCat("/", service->full_name(), "/", method.name());
      std::vector<Path> paths;
      Path path;
      std::set<const Descriptor*> open;
      Collect(*method.input_type(), path, open, paths);
      for (const Path& each : paths) {
        const size_t room = most_bytes - kForTags;
        requests.push_back(
            {name, NameOf(each), "over", Over(each, room), method.server_streaming()});
        requests.push_back(
            {name, NameOf(each), "within", Within(each, room), method.server_streaming()});
      }
    }
  }
  return requests;
}

}  // namespace muster::testing
