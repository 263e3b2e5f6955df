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
#include <functional>
#include <map>
#include <set>
#include <utility>

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

// The key `number` of a map's entry.
std::string Key(const FieldDescriptor& map, size_t number) {
  const FieldDescriptor& key = *map.message_type()->map_key();
  return key.cpp_type() == FieldDescriptor::CPPTYPE_STRING
             ? Entry(key, absl::StrCat(number))
             : Tag(key, WireFormatLite::WIRETYPE_VARINT) + Varint(number);
}

// The smallest entry that a list can have; of a map, with that key, as the next with the same would
// replace it.
std::string Smallest(const FieldDescriptor& field, size_t number) {
  if (field.is_map()) return Entry(field, Key(field, number));
  const bool has_length = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE ||
                          field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  return has_length ? Entry(field, "") : Tag(field, WireFormatLite::WIRETYPE_VARINT) + Varint(1);
}

// As many as there is room for, at most `most`.
std::string SmallEntries(const FieldDescriptor& field, size_t most, size_t room) {
  if (!field.is_map()) {
    const std::string entry = Smallest(field, 0);
    return Repeat(entry, std::min(most, room / entry.size()));
  }
  std::string out;
  for (size_t i = 0; i < most; ++i) {
    const std::string entry = Smallest(field, i);
    if (out.size() + entry.size() > room) break;
    out += entry;
  }
  return out;
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
  return Wrapped(path, NumberAsText(*last.containing_type()) + SmallEntries(last, room, room));
}

// How much there may be of something.
struct Room {
  size_t bytes = 0;
  size_t entries = 0;  // of all lists

  // Within a message that stands in it.
  Room Inside() const {
    constexpr size_t kForTags = 16;  // its own, its length, and of a map the key
    return {bytes > 2 * kForTags ? bytes - kForTags : kForTags, std::max<size_t>(entries, 2) - 1};
  }
};

// What fills a room.
struct Filling {
  std::string bytes = {};
  size_t entries = 0;
};

// As much of the list or text as the bounds allow.
Filling Full(const FieldDescriptor& field, const Room& room) {
  if (!field.is_repeated())
    return {Entry(field, std::string(std::min(rpc::kMaxStringBytes, room.Inside().bytes), '/')), 1};
  const size_t most = std::min<size_t>(rpc::kMaxEntries, room.entries);
  return {SmallEntries(field, most, room.bytes), most};
}

// As many of the message as there is room for; one, if it is not in a list.
Filling Repeated(const FieldDescriptor& field, const Filling& message, const Room& room) {
  if (!field.is_repeated()) return {Entry(field, message.bytes), message.entries};
  const auto entry = [&](size_t number) {
    return Entry(field, field.is_map() ? Key(field, number) + message.bytes : message.bytes);
  };
  size_t times = std::min<size_t>({rpc::kMaxEntries, room.bytes / entry(rpc::kMaxEntries).size(),
                                   room.entries / (message.entries + 1)});
  times = std::max<size_t>(times, 1);
  Filling filling{.entries = (message.entries + 1) * times};
  for (size_t i = 0; i < times; ++i) filling.bytes += entry(i);
  return filling;
}

// A message, or what of it is below the first `depth` fields of the paths, with everything at their
// ends as full as the bounds allow, and lists on the way as long as there is room. Fields share the
// room equally. No path is the beginning of another.
Filling Within(const std::vector<Path>& paths, const Room& room, size_t depth = 0) {
  std::map<int, std::vector<Path>> fields;  // by number
  for (const Path& path : paths) fields[path[depth]->number()].push_back(path);
  const Room share = {room.bytes / fields.size(), room.entries / fields.size()};
  Filling all;
  for (const auto& [number, below] : fields) {
    const FieldDescriptor& field = *below.front()[depth];
    const bool is_end = below.front().size() == depth + 1;
    const Filling part = is_end ? Full(field, share)
                                : Repeated(field, Within(below, share.Inside(), depth + 1), share);
    all.bytes += part.bytes;
    all.entries += part.entries;
  }
  return all;
}

bool BeginsWith(const Path& path, const Path& begin) {
  return path.size() >= begin.size() && std::equal(begin.begin(), begin.end(), path.begin());
}

// Whether two fields are of one message.
bool AreBeside(const Path& a, const Path& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end() - 1, b.begin());
}

void Collect(const Descriptor& type, Path& path, std::set<const Descriptor*>& open,
             std::vector<Path>& out) {
  if (!open.insert(&type).second) return;  // one that holds itself
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    // A map's keys are its own affair (Key).
    if (type.options().map_entry() && field == type.map_key()) continue;
    path.push_back(field);
    if (field->is_repeated() || field->cpp_type() == FieldDescriptor::CPPTYPE_STRING)
      out.push_back(path);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
      Collect(*field->message_type(), path, open, out);
    path.pop_back();
  }
  open.erase(&type);
}

// To each list and text of a request.
std::vector<Path> PathsOf(const Descriptor& type) {
  std::vector<Path> paths;
  Path path;
  std::set<const Descriptor*> open;
  Collect(type, path, open, paths);
  return paths;
}

// Those that stand in one message.
std::vector<std::pair<Path, Path>> PairsOf(const std::vector<Path>& paths) {
  std::vector<std::pair<Path, Path>> pairs;
  for (size_t i = 0; i < paths.size(); ++i) {
    for (size_t j = i + 1; j < paths.size(); ++j)
      if (AreBeside(paths[i], paths[j])) pairs.emplace_back(paths[i], paths[j]);
  }
  return pairs;
}

// Those that are the beginning of no other.
std::vector<Path> EndsOf(const std::vector<Path>& paths) {
  std::vector<Path> ends;
  for (const Path& path : paths) {
    const bool goes_on = std::any_of(paths.begin(), paths.end(), [&](const Path& other) {
      return other.size() > path.size() && BeginsWith(other, path);
    });
    if (!goes_on) ends.push_back(path);
  }
  return ends;
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
  const size_t room = most_bytes - kForTags;
  std::vector<WorstRequest> requests;
  for (const ServiceDescriptor* service : services) {
    for (int i = 0; i < service->method_count(); ++i) {
      const MethodDescriptor& method = *service->method(i);
      const auto add = [&](const std::string& how, const std::string& field,
                           std::function<std::string()> make) {
        requests.push_back({absl::StrCat("/", service->full_name(), "/", method.name()), field, how,
                            std::move(make), method.server_streaming()});
      };
      const auto add_within = [&](const std::string& how, const std::string& field,
                                  const std::vector<Path>& paths) {
        add(how, field, [paths, room] {
          return Within(paths, {room, static_cast<size_t>(rpc::kMaxRequestEntries)}).bytes;
        });
      };
      const std::vector<Path> paths = PathsOf(*method.input_type());
      for (const Path& path : paths) {
        add("over", NameOf(path), [path, room] { return Over(path, room); });
        add_within("within", NameOf(path), {path});
      }
      for (const auto& [one, other] : PairsOf(paths))
        add_within("pair", absl::StrCat(NameOf(one), " and ", NameOf(other)), {one, other});
      if (const std::vector<Path> ends = EndsOf(paths); ends.size() > 1)
        add_within("all", "all fields", ends);
    }
  }
  return requests;
}

}  // namespace muster::testing
