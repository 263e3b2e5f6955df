#include "services/common/open_files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace muster {
namespace {

int OpenNothing() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

}  // namespace

FileLimit RaiseFileLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  const FileLimit raised = {limit.rlim_cur, limit.rlim_max};
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return {raised.before, raised.before};
  return raised;
}

FileReserve::FileReserve(size_t files) {
  MutexLock lock(mutex_);
  while (files_.size() < files) {
    const int file = OpenNothing();
    if (file < 0) return;
    files_.push_back(file);
  }
}

bool FileReserve::Release() {
  MutexLock lock(mutex_);
  for (const int file : files_) close(file);
  const bool had = !files_.empty();
  files_.clear();
  return had;
}

bool FileReserve::CanOpen() {
  const int file = OpenNothing();
  if (file >= 0) close(file);
  return file >= 0;
}

}  // namespace muster
