#include "services/rpc/list_order.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/status_macros.h"
#include "services/rpc/path_text.h"

namespace muster::rpc {
namespace {

constexpr size_t kMaxFields = 8;
constexpr size_t kMaxOrderBytes = 1024;
constexpr size_t kMaxTextBytes = 512;

// Greater bytes for greater numbers.
std::string BytesOf(uint64_t number) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift);
  return bytes;
}
std::string BytesOf(int64_t number) {
  return BytesOf(static_cast<uint64_t>(number) ^ (uint64_t{1} << 63));
}
std::string BytesOf(bool value) { return std::string(1, value ? '\1' : '\0'); }
std::string BytesOf(double number) {
  uint64_t bits = 0;
  std::memcpy(&bits, &number, sizeof(bits));
  return BytesOf(bits >> 63 != 0 ? ~bits : bits | (uint64_t{1} << 63));
}
// Ends below everything that goes on. Of long texts the beginning: where a list went to is told in
// a page token, which is bounded as every field of a request is.
std::string BytesOf(const std::string& text) {
  std::string bytes;
  for (const char c : absl::string_view(text).substr(0, kMaxTextBytes)) {
    bytes += c;
    if (c == '\0') bytes += '\1';
  }
  bytes += '\0';
  bytes += '\0';
  return bytes;
}
// Beyond 1677 and 2262 there are no more nanoseconds.
std::string BytesOf(absl::Time time) {
  return BytesOf(absl::ToUnixNanos(time)) + BytesOf(absl::ToUnixMicros(time));
}
std::string BytesOf(absl::Duration duration) {
  return BytesOf(static_cast<int64_t>(absl::ToInt64Nanoseconds(duration)));
}

struct Written {
  std::string path = {};  // as ReadWord gives it
  bool descending = false;
};

// The next field, up to the comma or end behind it, which is at `at` then.
absl::StatusOr<Written> ReadField(absl::string_view text, size_t& at) {
  const size_t begin = at;
  const auto is_space = [](char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); };
  const auto next = [&]() -> absl::StatusOr<std::string> {
    while (at < text.size() && is_space(text[at])) ++at;
    return ReadWord(text, at, [&](char c) { return !is_space(c) && c != ',' && c != '"'; });
  };
  Written written;
  ASSIGN_OR_RETURN(written.path, next());
  ASSIGN_OR_RETURN(const std::string direction, next());
  while (at < text.size() && is_space(text[at])) ++at;
  written.descending = direction == "desc";
  const bool directed = direction.empty() || direction == "asc" || written.descending;
  if (!written.path.empty() && directed && (at == text.size() || text[at] == ',')) return written;
  const absl::string_view part = text.substr(begin, text.find(',', begin) - begin);
  return absl::InvalidArgumentError(
      absl::StrCat("`", absl::StripAsciiWhitespace(part),
                   "` is not a field such as `create_time`, or one and `desc`"));
}

}  // namespace

absl::StatusOr<ListOrder> ListOrder::Parse(absl::string_view text,
                                           const google::protobuf::Descriptor& type) {
  ListOrder order;
  if (text.size() > kMaxOrderBytes)
    return absl::InvalidArgumentError(absl::StrCat("must have at most ", kMaxOrderBytes, " bytes"));
  if (absl::StripAsciiWhitespace(text).empty()) return order;
  size_t at = 0;
  do {
    ASSIGN_OR_RETURN(const Written written, ReadField(text, at));
    const std::vector<std::string> parts = PartsOf(written.path);
    ASSIGN_OR_RETURN(FieldPath path, FieldPath::Resolve(type, parts));
    if (!path.is_value())
      return absl::InvalidArgumentError(
          absl::StrCat("`", absl::StrJoin(parts, "."), "` is no single value"));
    order.fields_.push_back({std::move(path), written.descending});
  } while (at++ < text.size());
  if (order.fields_.size() > kMaxFields)
    return absl::InvalidArgumentError(absl::StrCat("must have at most ", kMaxFields, " fields"));
  return order;
}

std::string ListOrder::KeyOf(const google::protobuf::Message& resource,
                             absl::string_view name) const {
  std::string key;
  for (const Field& field : fields_) {
    std::string bytes =
        std::visit([](const auto& value) { return BytesOf(value); }, field.path.Get(resource));
    if (field.descending)
      for (char& c : bytes) c = static_cast<char>(~c);
    key += bytes;
  }
  absl::StrAppend(&key, name);
  return key;
}

}  // namespace muster::rpc
