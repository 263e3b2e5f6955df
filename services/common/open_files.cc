#include "services/common/open_files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace muster {
namespace {

int OpenNothing() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

// Whether so many files more could be opened. Opens none.
bool IsRoomFor(size_t files) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  size_t unused = 0;
  // The lowest numbers are given out first: most unused ones are at the end.
  for (rlim_t file = limit.rlim_cur; file > 0 && unused < files; --file) {
    if (fcntl(static_cast<int>(file - 1), F_GETFD) < 0) ++unused;
  }
  return unused == files;
}

}  // namespace

FileLimit RaiseFileLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  const FileLimit raised = {limit.rlim_cur, limit.rlim_max};
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return {raised.before, raised.before};
  return raised;
}

FileReserve::FileReserve(size_t files) : size_(files) {
  MutexLock lock(mutex_);
  Fill();
}

void FileReserve::Fill() {
  while (files_.size() < size_) {
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

void FileReserve::Refill() {
  MutexLock lock(mutex_);
  if (files_.size() < size_ && IsRoomFor(2 * size_)) Fill();
}

bool FileReserve::CanOpen() {
  const int file = OpenNothing();
  if (file >= 0) close(file);
  return file >= 0;
}

}  // namespace muster
