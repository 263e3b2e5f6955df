#include "services/kubernetes/api/watch_stream.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "services/kubernetes/api/errors.h"

namespace muster::kubernetes {
namespace {

absl::StatusOr<WatchEvent> Parse(absl::string_view line) {
  Json event = ParseJson(line);
  std::string type = TextOf(MemberOf(event, "type"));
  if (type.empty() || !MemberOf(event, "object").is_object()) {
    return absl::UnknownError("a watch brought what is no event");
  }
  return WatchEvent{std::move(type), std::move(event["object"])};
}

}  // namespace

std::optional<absl::StatusOr<WatchEvent>> WatchStream::Next() {
  while (true) {
    const size_t end = buffer_.find('\n', scanned_);
    if (end == std::string::npos) {
      buffer_.erase(0, begin_);
      begin_ = 0;
      scanned_ = buffer_.size();
      if (buffer_.size() <= kMaxEventBytes) return std::nullopt;
      return absl::UnknownError(
          absl::StrCat("a watch brought an event of more than ", kMaxEventBytes, " bytes"));
    }
    const absl::string_view line =
        absl::StripAsciiWhitespace(absl::string_view(buffer_).substr(begin_, end - begin_));
    begin_ = scanned_ = end + 1;
    if (!line.empty()) return Parse(line);
  }
}

bool WatchStream::whole() const {
  return absl::StripAsciiWhitespace(absl::string_view(buffer_).substr(begin_)).empty();
}

}  // namespace muster::kubernetes
