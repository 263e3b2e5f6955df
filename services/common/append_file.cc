#include "services/common/append_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"

namespace muster {

AppendFile::AppendFile(std::string file, int fallback)
    : file_(std::move(file)), descriptor_(file_.empty() ? fallback : -1) {}

AppendFile::~AppendFile() {
  if (!file_.empty() && descriptor_ >= 0) close(descriptor_);
}

absl::Status AppendFile::Open() {
  if (file_.empty()) return absl::OkStatus();
  const int opened = open(file_.c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0640);
  if (opened < 0)
    return error::Unavailable(
        absl::StrCat(file_, " cannot be written: ", std::strerror(errno), "."));
  MutexLock lock(mutex_);
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = opened;
  struct stat now = {};
  // Another one, in its place.
  if (fstat(opened, &now) == 0 && now.st_size == 0) torn_ = false;
  return absl::OkStatus();
}

absl::string_view AppendFile::Write(absl::string_view text) {
  MutexLock lock(mutex_);
  const char* const begin = text.data();
  while (!text.empty()) {
    const absl::string_view now = torn_ ? absl::string_view("\n") : text;
    const ssize_t written = write(descriptor_, now.data(), now.size());
    if (written > 0 && torn_) {
      torn_ = false;
    } else if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {
      // A pipe of whoever started us, and full.
      pollfd room{descriptor_, POLLOUT, 0};
      poll(&room, 1, -1);
    } else if (errno != EINTR) {
      torn_ = torn_ || (text.data() != begin && text.data()[-1] != '\n');
      break;
    }
  }
  return text;
}

}  // namespace muster
