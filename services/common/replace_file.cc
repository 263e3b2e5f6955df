#include "services/common/replace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"

namespace muster {
namespace {

bool WriteAll(int file, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

bool ReplaceFile(const std::string& path, absl::string_view text, const ReplaceOptions& options) {
  struct stat is = {};
  if (stat(path.c_str(), &is) == 0 && !S_ISREG(is.st_mode)) return false;
  const std::string draft = absl::StrCat(path, ".new");
  // One that a killed program left may have other rights.
  (void)unlink(draft.c_str());
  const int file = open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, options.mode);
  if (file < 0) return false;
  const bool written = WriteAll(file, text) && (!options.durable || fsync(file) == 0);
  const bool closed = close(file) == 0;
  if (written && closed && std::rename(draft.c_str(), path.c_str()) == 0) return true;
  (void)unlink(draft.c_str());
  return false;
}

}  // namespace muster
