#include "services/tls/pem_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/replace_file.h"
#include "services/common/status_macros.h"

namespace muster::tls {
namespace {

namespace fs = std::filesystem;

// gRPC sees by the files' times, in whole seconds, whether one of them changed while it read them:
// so each version gets its own second.
void SetTime(const std::string& file, time_t seconds) {
  const timespec times[2] = {{seconds, 0}, {seconds, 0}};
  (void)utimensat(AT_FDCWD, file.c_str(), times, 0);
}

// systemd's variable comes first: it empties that folder itself, whatever ends the program. Of
// several, `a:b`, the first.
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

// Opens and locks a folder of this user's; returns the descriptor. -1: it is no such folder,
// somebody has the lock, or it was removed before it was locked.
int Lock(const std::string& folder) {
  const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return -1;
  struct stat is = {};
  if (fstat(file, &is) == 0 && is.st_uid == geteuid() && flock(file, LOCK_EX | LOCK_NB) == 0 &&
      fstat(file, &is) == 0 && is.st_nlink > 0)
    return file;
  close(file);
  return -1;
}

// A path to an open folder, whatever has its name by now.
std::string PathOf(int folder) { return absl::StrCat("/proc/self/fd/", folder); }

void Remove(const std::string& path, int folder) {
  std::error_code failed;
  std::error_code ignored;
  for (fs::directory_iterator at(PathOf(folder), failed), end; at != end; at.increment(failed))
    fs::remove_all(at->path(), ignored);
  (void)rmdir(path.c_str());
}

// Removes the folders of programs that were killed.
void RemoveAbandoned() {
  std::error_code failed;
  for (fs::directory_iterator at(Top(), failed), end; at != end; at.increment(failed)) {
    const fs::path& path = at->path();
    if (!absl::StartsWith(path.filename().string(), kPrefix)) continue;
    const int lock = Lock(path);
    if (lock < 0) continue;
    Remove(path, lock);
    close(lock);
  }
}

struct Folder {
  std::string path;
  int lock;
};

// How often others that start at the same time may take a new folder for an abandoned one.
constexpr int kMaxFoldersMade = 100;

absl::StatusOr<Folder> Make(const std::string& top) {
  std::string path;
  for (int made = 0; made < kMaxFoldersMade; ++made) {
    path = absl::StrCat(top, "/", kPrefix, "XXXXXX");
    if (mkdtemp(path.data()) == nullptr)
      return error::Unavailable(absl::StrCat("A private folder cannot be made as ", path, "."));
    const int lock = Lock(path);
    if (lock >= 0) return Folder{path, lock};
    // Another process, which removes abandoned folders, took it for one.
    (void)rmdir(path.c_str());
  }
  return error::Unavailable(absl::StrCat(path, " cannot be locked."));
}

absl::Status Write(const std::string& file, const std::string& text, time_t seconds) {
  if (!ReplaceFile(file, text, {.mode = 0600}))
    return error::Unavailable(absl::StrCat(file, " cannot be written."));
  SetTime(file, seconds);
  return absl::OkStatus();
}

}  // namespace

PemFolder::PemFolder(PemFolder&& other) noexcept
    : path_(std::move(other.path_)), held_(std::exchange(other.held_, -1)), puts_(other.puts_) {}

PemFolder::~PemFolder() {
  if (held_ < 0) return;
  Remove(path_, held_);
  close(held_);
}

absl::StatusOr<PemFolder> PemFolder::Create() {
  RemoveAbandoned();
  ASSIGN_OR_RETURN(Folder made, Make(Top()));
  return PemFolder(std::move(made.path), made.lock);
}

std::string PemFolder::Held(absl::string_view file) const {
  return absl::StrCat(PathOf(held_), "/", file);
}

absl::Status PemFolder::MakeFolder(absl::string_view name) {
  const std::string folder = Held(name);
  std::error_code failed;
  fs::remove_all(folder, failed);
  if (mkdir(folder.c_str(), 0700) == 0) return absl::OkStatus();
  // In one that was tidied away nothing can be made. By its old name there may be one of somebody
  // else's.
  if (errno == ENOENT) {
    ASSIGN_OR_RETURN(Folder made, Make(fs::path(path_).parent_path()));
    dup3(made.lock, held_, O_CLOEXEC);
    close(made.lock);
    path_ = std::move(made.path);
    if (mkdir(folder.c_str(), 0700) == 0) return absl::OkStatus();
  }
  return error::Unavailable(
      absl::StrCat(path_, "/", name, " cannot be made, by way of ", folder, "."));
}

absl::Status PemFolder::Put(const Pem& pem) {
  const std::string name = absl::StrCat("version-", puts_);
  const time_t seconds = std::time(nullptr) + puts_;
  RETURN_IF_ERROR(MakeFolder(name));
  RETURN_IF_ERROR(Write(Held(name + "/key"), pem.key, seconds));
  RETURN_IF_ERROR(Write(Held(name + "/certificates"), pem.certificates, seconds));
  RETURN_IF_ERROR(Write(Held(name + "/authorities"), pem.authorities, seconds));
  const std::string link = Held("next");
  std::error_code failed;
  fs::remove(link, failed);
  fs::create_directory_symlink(name, link, failed);
  if (failed || std::rename(link.c_str(), Held("now").c_str()) != 0)
    return error::Unavailable(absl::StrCat(path_, "/now cannot be put in place."));
  // Whoever was reading the last one may go on with it.
  if (puts_ >= 2) fs::remove_all(Held(absl::StrCat("version-", puts_ - 2)), failed);
  ++puts_;
  return absl::OkStatus();
}

}  // namespace muster::tls
