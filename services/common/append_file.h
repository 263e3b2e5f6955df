#pragma once

#include <unistd.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "services/common/mutex.h"

namespace muster {

// A file that grows, and may be rotated under it. Thread-safe; a write is whole, but for the disk's
// sake.
class AppendFile {
 public:
  // Empty: writes to `fallback`, which is nobody's to close.
  explicit AppendFile(std::string file, int fallback = STDERR_FILENO);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  // Opens the file by its name, which is made if it is not there (mode 0640); again: anew. UNAVAILABLE:
  // it cannot be opened, and what was open before goes on.
  absl::Status Open();
  // Blocks until it is written, which is lines. Returns what is not: empty; or what the disk refused. A line that was written in part
  // is ended before the next.
  absl::string_view Write(absl::string_view text);

 private:
  const std::string file_;
  Mutex mutex_;
  int descriptor_ MUSTER_GUARDED_BY(mutex_);
  bool torn_ MUSTER_GUARDED_BY(mutex_) = false;  // a line was written in part
};

}  // namespace muster
