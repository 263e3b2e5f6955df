#include "services/rpc/request_bounds.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/faults.h"
#include "services/rpc/limits.h"

namespace muster::rpc {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// A request of no more bytes is within every bound: an entry has a byte at least.
constexpr size_t kAlwaysWithin = std::min<size_t>(kMaxEntries, kMaxStringBytes);
// Deeper messages are refused by their parser.
constexpr size_t kMaxDepth = 100;

// One pass over the bytes. Each function is true when the walk may go on: false at a fault, which
// stands in `fault_`, and at bytes that are no message.
class Walk {
 public:
  explicit Walk(absl::string_view bytes)
      : bytes_(bytes.size()),
        in_(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size())) {}

  absl::Status Over(const Descriptor& type) {
    Message(type);
    return std::move(fault_);
  }

 private:
  // A field, and how often it stood in its message so far.
  struct Step {
    const FieldDescriptor* field = nullptr;
    int count = 0;
  };

  bool Message(const Descriptor& type) {
    std::vector<int> counts(static_cast<size_t>(type.field_count()));
    while (const uint32_t tag = in_.ReadTag()) {
      const auto* field = type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
      if (field == nullptr) {
        if (!Count(1) || !Skip(tag)) return false;
        continue;
      }
      path_.push_back({field, ++counts[static_cast<size_t>(field->index())]});
      if (!Entry(tag)) return false;
      path_.pop_back();
    }
    return true;
  }

  // What stands behind the tag of the path's last field.
  bool Entry(uint32_t tag) {
    const auto& [field, count] = path_.back();
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (field->is_repeated()) {
      if (count > kMaxEntries) return Fail(EntriesLeft(tag) + kMaxEntries);
      if (!Count(1)) return false;
    } else if (is_message && count > 1) {
      return Fail("stands there more than once.");
    }
    const auto type = WireFormatLite::GetTagWireType(tag);
    const bool has_length = type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    const bool is_packed = has_length && field->is_packable();
    // Parsers take what comes in another way than the field's for a field that nobody knows.
    if (!is_packed && type != TypeOf(*field)) return Count(1) && Skip(tag);
    if (!has_length) return Skip(tag);
    uint32_t length = 0;
    if (!in_.ReadVarint32(&length)) return false;
    if (is_message) return Nested(*field->message_type(), length);
    return is_packed ? Packed(length) : String(length);
  }

  // How an entry of the field comes that is not packed.
  static WireFormatLite::WireType TypeOf(const FieldDescriptor& field) {
    return WireFormatLite::WireTypeForFieldType(
        static_cast<WireFormatLite::FieldType>(field.type()));
  }

  bool Nested(const Descriptor& type, uint32_t length) {
    if (path_.size() > kMaxDepth || length > bytes_) return false;
    const CodedInputStream::Limit outer = in_.PushLimit(static_cast<int>(length));
    if (!Message(type) || !in_.ConsumedEntireMessage()) return false;
    in_.PopLimit(outer);
    return true;
  }

  bool String(uint32_t length) {
    if (length <= kMaxStringBytes) return in_.Skip(static_cast<int>(length));
    return Fail(absl::StrCat("has ", length, " bytes; allowed are at most ", kMaxStringBytes, "."));
  }

  // Numbers one behind the other. (No request has such a list of a fixed width.)
  bool Packed(uint32_t length) {
    const CodedInputStream::Limit outer = in_.PushLimit(static_cast<int>(length));
    int entries = 0;
    for (uint64_t number = 0; in_.BytesUntilLimit() > 0; ++entries) {
      if (!in_.ReadVarint64(&number)) return false;
    }
    in_.PopLimit(outer);
    return entries <= kMaxEntries ? Count(entries) : Fail(entries);
  }

  bool Count(int entries) {
    entries_ += entries;
    if (entries_ <= kMaxRequestEntries) return true;
    return Fail(absl::StrCat("is one entry too many: allowed are ", kMaxRequestEntries,
                             " in a whole request."));
  }

  // How many there are of the field whose tag was just read, this one too.
  int EntriesLeft(uint32_t tag) {
    int entries = 0;
    for (uint32_t next = tag; next != 0 && Skip(next); next = in_.ReadTag())
      entries += next == tag ? 1 : 0;
    return entries;
  }

  bool Skip(uint32_t tag) {
    // What is within it would not be counted.
    if (WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_START_GROUP)
      return Fail("has a group, which no message of ours has.");
    return WireFormatLite::SkipField(&in_, tag);
  }

  bool Fail(int entries) {
    return Fail(absl::StrCat("has ", entries, " entries; allowed are at most ", kMaxEntries, "."));
  }
  bool Fail(absl::string_view description) {
    if (fault_.ok()) fault_ = error::InvalidField(Path(), description);
    return false;
  }

  // Of the path's last field; a list that is at fault as a whole has no index.
  std::string Path() const {
    std::string path;
    for (const Step& step : path_) {
      path = error::Below(path, step.field->name());
      if (step.field->is_repeated() && &step != &path_.back())
        path = error::At(path, static_cast<size_t>(step.count - 1));
    }
    return path.empty() ? "request" : path;
  }

  const size_t bytes_;  // of the whole request
  CodedInputStream in_;
  std::vector<Step> path_;
  int entries_ = 0;
  absl::Status fault_;
};

}  // namespace

absl::Status CheckBounds(const Descriptor& type, absl::string_view bytes) {
  if (bytes.size() <= kAlwaysWithin) return absl::OkStatus();
  return Walk(bytes).Over(type);
}

}  // namespace muster::rpc
