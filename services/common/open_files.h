#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "services/common/mutex.h"

namespace muster {

// How many files, sockets among them, this process may have open.
struct FileLimit {
  uint64_t before = 0;
  uint64_t now = 0;
};

// Raises the limit as far as it may be raised (RLIMIT_NOFILE, soft to hard): shells and systemd
// start programs with 1,024, which as many idle clients use up.
FileLimit RaiseFileLimit();

// File descriptors that are kept aside for the time when there are no others: what must be opened
// then (a log line's file, a connection to the database, the probe of a listener) finds these.
// Thread-safe.
class FileReserve {
 public:
  explicit FileReserve(size_t files);
  ~FileReserve() { Release(); }
  FileReserve(const FileReserve&) = delete;
  FileReserve& operator=(const FileReserve&) = delete;

  // Gives them back. True: there were some. Idempotent.
  bool Release();
  // Keeps them aside again once as many could be opened beside them. Finds that out without opening
  // any: a listener that finds no descriptor dies of it, however short the moment is.
  void Refill();
  // Whether a file can be opened now.
  static bool CanOpen();

 private:
  void Fill() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t size_;
  Mutex mutex_;
  std::vector<int> files_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
