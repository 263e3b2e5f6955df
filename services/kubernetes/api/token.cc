#include "services/kubernetes/api/token.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "services/common/read_file.h"

namespace muster::kubernetes {
namespace {

std::string Read(const std::string& path) {
  std::string token = ReadFile(path).value_or("");
  absl::StripAsciiWhitespace(&token);
  return IsToken(token) ? token : "";
}

}  // namespace

bool IsToken(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isgraph(static_cast<unsigned char>(c));
  });
}

bool IsHeaderText(absl::string_view text) {
  return absl::StripAsciiWhitespace(text) == text &&
         std::none_of(text.begin(), text.end(),
                      [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); });
}

TokenSource::TokenSource(absl::string_view token, std::string file)
    : file_(std::move(file)), token_(file_.empty() ? absl::StripAsciiWhitespace(token) : "") {}

absl::StatusOr<std::string> TokenSource::Current() {
  std::string read = file_.empty() ? "" : Read(file_);
  MutexLock lock(mutex_);
  if (!read.empty()) token_ = std::move(read);
  if (token_.empty() && !file_.empty()) {
    return absl::UnauthenticatedError(absl::StrCat("no token could be read from ", file_));
  }
  return token_;
}

}  // namespace muster::kubernetes
