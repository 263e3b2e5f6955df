#include "services/common/memory_limit.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <limits>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

// Of jemalloc, where the program is linked with it.
extern "C" __attribute__((weak)) int mallctl(const char* name, void* old, size_t* old_size,
                                             void* what, size_t what_size);

namespace muster {
namespace {

// Gives memory that was freed, and that the allocator keeps, back to the kernel.
void GiveBack() {
  if (mallctl != nullptr) {
    mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0);  // MALLCTL_ARENAS_ALL
  } else {
    malloc_trim(0);
  }
}

// Version 1 reports a limit at least so large for a group without one.
constexpr int64_t kUnbounded = int64_t{1} << 60;

int64_t ReadLimit(const std::string& path) {
  std::ifstream in(path);
  std::string text;
  int64_t bytes = 0;
  if (!(in >> text) || !absl::SimpleAtoi(text, &bytes) || bytes <= 0 || bytes >= kUnbounded)
    return std::numeric_limits<int64_t>::max();
  return bytes;
}

// The least limit of a group and of the groups that it is in, up to the mount.
int64_t LeastLimit(const std::string& mount, std::string group, const char* file) {
  int64_t least = ReadLimit(absl::StrCat(mount, "/", file));
  while (!group.empty() && group != "/") {
    least = std::min(least, ReadLimit(absl::StrCat(mount, group, "/", file)));
    group.resize(group.rfind('/'));
  }
  return least;
}

}  // namespace

int64_t ResidentBytes() {
  std::ifstream in("/proc/self/statm");
  int64_t pages = 0;
  int64_t resident = 0;
  if (!(in >> pages >> resident)) return 0;
  return resident * sysconf(_SC_PAGESIZE);
}

int64_t CgroupMemoryLimit(const std::string& root) {
  int64_t least = std::numeric_limits<int64_t>::max();
  std::ifstream in(absl::StrCat(root, "/proc/self/cgroup"));
  // `0::/group` of version 2, `7:memory:/group` of version 1.
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3 || !absl::StartsWith(parts[2], "/")) continue;
    const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
    if (parts[1].empty()) {
      least =
          std::min(least, LeastLimit(absl::StrCat(root, "/sys/fs/cgroup"), parts[2], "memory.max"));
    } else if (std::count(controllers.begin(), controllers.end(), "memory") > 0) {
      least = std::min(least, LeastLimit(absl::StrCat(root, "/sys/fs/cgroup/memory"), parts[2],
                                         "memory.limit_in_bytes"));
    }
  }
  return least == std::numeric_limits<int64_t>::max() ? 0 : least;
}

bool MemoryLimit::IsNear() {
  if (bytes_ == 0) return false;
  const absl::Duration now = clock_.Now();
  // One thread looks, however long it takes; the others go by what was seen last.
  if (absl::ToInt64Nanoseconds(now) < next_look_ || looking_.exchange(true)) return near_;
  near_ = Look(now);
  next_look_ = absl::ToInt64Nanoseconds(clock_.Now() + kLook);
  looking_ = false;
  return near_;
}

bool MemoryLimit::Look(absl::Duration now) {
  const auto is_near = [this] { return resident_() > bytes_ / 10 * 9; };
  if (!is_near()) return false;
  if (now < next_give_back_) return true;
  next_give_back_ = now + kGiveBack;
  GiveBack();
  return is_near();
}

}  // namespace muster
