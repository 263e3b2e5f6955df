#pragma once

#include <unistd.h>

#include <atomic>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "services/common/mutex.h"

namespace muster {

// Appends to a file that may be rotated meanwhile. Thread-safe; a write is never mixed with
// another, and is whole unless the disk fails.
class AppendFile {
 public:
  // `file` empty: writes to `fallback`, which is not closed.
  explicit AppendFile(std::string file, int fallback = STDERR_FILENO);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  // Opens the file by its name, anew if it is open already; made if it is not there (mode 0640).
  // Waits neither for a pipe's reader nor for a write that hangs: the next one is to the new file.
  // UNAVAILABLE: it cannot be opened, and the one that was open before stays in use.
  absl::Status Open();
  // Writes `text`, which is whole lines, and blocks meanwhile. Returns the part that the disk
  // refused, else an empty one. A line that was written in part is ended before the next.
  absl::string_view Write(absl::string_view text);

 private:
  // Goes on with what Open opened, if that has not happened yet.
  void TakeOpened() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string file_;
  std::atomic<int> opened_ = -1;  // and not taken yet
  Mutex mutex_;
  int descriptor_ MUSTER_GUARDED_BY(mutex_);
  bool torn_ MUSTER_GUARDED_BY(mutex_) = false;  // a line was written in part
};

}  // namespace muster
