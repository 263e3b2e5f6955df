#include "services/tls/pem_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"

namespace muster::tls {
namespace {

namespace fs = std::filesystem;

// gRPC tells by whole seconds whether one file of several changed while it read them: each version has a second of its own.
void SetTime(const std::string& file, time_t seconds) {
  const timespec times[2] = {{seconds, 0}, {seconds, 0}};
  (void)utimensat(AT_FDCWD, file.c_str(), times, 0);
}

// systemd's variable comes first: it empties that folder itself, whatever ends the program. Of several, `a:b`, the first.
std::string Top() {
  for (const char* variable : {"RUNTIME_DIRECTORY", "TMPDIR"}) {
    const char* const folder = std::getenv(variable);
    const std::string first =
        folder == nullptr ? "" : std::string(folder).substr(0, absl::string_view(folder).find(':'));
    if (!first.empty()) return first;
  }
  return "/tmp";
}

constexpr absl::string_view kPrefix = "muster-tls-";

// A folder of this user's that is open, and nobody else's by a lock. -1: it is none, or somebody has it.
int Lock(const std::string& folder) {
  const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return -1;
  struct stat is = {};
  if (fstat(file, &is) == 0 && is.st_uid == geteuid() && flock(file, LOCK_EX | LOCK_NB) == 0)
    return file;
  close(file);
  return -1;
}

// Those of programs that were killed.
void RemoveAbandoned() {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(Top(), failed)) {
    if (!absl::StartsWith(entry.path().filename().string(), kPrefix)) continue;
    const int lock = Lock(entry.path());
    if (lock < 0) continue;
    std::error_code ignored;
    fs::remove_all(entry.path(), ignored);
    close(lock);
  }
}

absl::Status Write(const std::string& file, const std::string& text, time_t seconds) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) return error::Unavailable(absl::StrCat(file, " cannot be written."));
  SetTime(file, seconds);
  return absl::OkStatus();
}

}  // namespace

PemFolder::PemFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
PemFolder::PemFolder(PemFolder&& other) noexcept
    : path_(std::exchange(other.path_, "")),
      lock_(std::exchange(other.lock_, -1)),
      puts_(other.puts_) {}

PemFolder::~PemFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

absl::StatusOr<PemFolder> PemFolder::Create() {
  RemoveAbandoned();
  std::string path = absl::StrCat(Top(), "/", kPrefix, "XXXXXX");
  if (mkdtemp(path.data()) == nullptr)
    return error::Unavailable(absl::StrCat("A private folder cannot be made as ", path, "."));
  const int lock = Lock(path);
  PemFolder folder(path, lock);
  // Whoever removed abandoned ones just then took it for one.
  if (lock < 0) return error::Unavailable(absl::StrCat(path, " cannot be locked."));
  return folder;
}

absl::Status PemFolder::Put(const Pem& pem) {
  const std::string name = absl::StrCat("version-", puts_);
  const std::string folder = absl::StrCat(path_, "/", name);
  const time_t seconds = std::time(nullptr) + puts_;
  std::error_code failed;
  // Where somebody tidied up, it is made anew.
  if (mkdir(path_.c_str(), 0700) == 0) {
    close(lock_);
    lock_ = Lock(path_);
  }
  fs::remove_all(folder, failed);
  if (!fs::create_directory(folder, failed))
    return error::Unavailable(absl::StrCat(folder, " cannot be made."));
  RETURN_IF_ERROR(Write(absl::StrCat(folder, "/key"), pem.key, seconds));
  RETURN_IF_ERROR(Write(absl::StrCat(folder, "/certificates"), pem.certificates, seconds));
  RETURN_IF_ERROR(Write(absl::StrCat(folder, "/authorities"), pem.authorities, seconds));
  const std::string link = absl::StrCat(path_, "/next");
  fs::remove(link, failed);
  fs::create_directory_symlink(name, link, failed);
  if (failed || std::rename(link.c_str(), absl::StrCat(path_, "/now").c_str()) != 0)
    return error::Unavailable(absl::StrCat(link, " cannot be put in place."));
  // Whoever was reading the last one may go on with it.
  if (puts_ >= 2) fs::remove_all(absl::StrCat(path_, "/version-", puts_ - 2), failed);
  ++puts_;
  return absl::OkStatus();
}

}  // namespace muster::tls
