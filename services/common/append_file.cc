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
  if (opened_ >= 0) close(opened_);
  if (!file_.empty() && descriptor_ >= 0) close(descriptor_);
}

absl::Status AppendFile::Open() {
  if (file_.empty()) return absl::OkStatus();
  // A pipe that nobody reads is an error at once, and not waited for.
  const int opened =
      open(file_.c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC | O_NONBLOCK, 0640);
  if (opened < 0)
    return error::Unavailable(
        absl::StrCat(file_, " cannot be written: ", std::strerror(errno), "."));
  const int not_taken = opened_.exchange(opened);
  if (not_taken >= 0) close(not_taken);
  if (mutex_.TryLock()) {
    TakeOpened();
    mutex_.Unlock();
  }
  return absl::OkStatus();
}

void AppendFile::TakeOpened() {
  const int opened = opened_.exchange(-1);
  if (opened < 0) return;
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = opened;
  struct stat now = {};
  // Another one, in its place.
  if (fstat(opened, &now) == 0 && now.st_size == 0) torn_ = false;
}

absl::string_view AppendFile::Write(absl::string_view text) {
  MutexLock lock(mutex_);
  TakeOpened();
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
