#include "services/rpc/page.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "absl/strings/escaping.h"
#include "services/common/error.h"
#include "services/common/fnv.h"
#include "services/rpc/limits.h"

namespace muster::rpc {
namespace {

constexpr size_t kChecksumBytes = 8;

std::string Checksum(const google::protobuf::Message& request, absl::string_view key) {
  const std::unique_ptr<google::protobuf::Message> rest(request.New());
  rest->CopyFrom(request);
  for (const char* name : {"page_size", "page_token"}) {
    if (const auto* field = rest->GetDescriptor()->FindFieldByName(name)) {
      rest->GetReflection()->ClearField(rest.get(), field);
    }
  }
  std::string bytes = rest->GetTypeName() + '\0';
  {
    google::protobuf::io::StringOutputStream out(&bytes);
    google::protobuf::io::CodedOutputStream coded(&out);
    coded.SetSerializationDeterministic(true);
    rest->SerializeToCodedStream(&coded);
  }
  uint64_t hash = Fnv1a(key, Fnv1a(bytes));
  std::string checksum(kChecksumBytes, '\0');
  for (char& c : checksum) {
    c = static_cast<char>(hash & 0xff);
    hash >>= 8;
  }
  return checksum;
}

}  // namespace

absl::StatusOr<int> PageSize(int page_size) {
  if (page_size < 0) return error::InvalidField("page_size", "must not be negative.");
  return page_size == 0 ? kDefaultPageSize : std::min(page_size, kMaxPageSize);
}

absl::StatusOr<std::string> ParsePageToken(const google::protobuf::Message& request,
                                           absl::string_view token) {
  if (token.empty()) return std::string();
  std::string bytes;
  if (absl::WebSafeBase64Unescape(token, &bytes) && bytes.size() > kChecksumBytes) {
    std::string key = bytes.substr(kChecksumBytes);
    if (bytes.compare(0, kChecksumBytes, Checksum(request, key)) == 0) return key;
  }
  return error::InvalidField("page_token",
                             "must be the next_page_token of the last answer to the same request.");
}

std::string PageToken(const google::protobuf::Message& request, absl::string_view last_key) {
  return absl::WebSafeBase64Escape(Checksum(request, last_key) + std::string(last_key));
}

}  // namespace muster::rpc
