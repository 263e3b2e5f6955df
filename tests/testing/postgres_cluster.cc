#include "tests/testing/postgres_cluster.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {
namespace {

// Runs a script of tests/postgres. Arguments are folders of ours and plain words: nothing to quote.
void RunScript(const std::string& script, const std::string& arguments) {
  const std::string command =
      absl::StrCat(MUSTER_SOURCE_DIR, "/tests/postgres/", script, " ", arguments);
  if (system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
}

std::string NewFolder() {
  std::string path = (std::filesystem::temp_directory_path() / "muster-test.XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("mkdtemp " + path);
  return path;
}

}  // namespace

const PostgresCluster& PostgresCluster::Shared() {
  static const std::unique_ptr<PostgresCluster> cluster = [] {
    const char* dir = getenv("MUSTER_TEST_POSTGRES");
    if (dir != nullptr && std::filesystem::exists(std::string(dir) + "/socket")) {
      return std::unique_ptr<PostgresCluster>(
          new PostgresCluster(dir, /*own_dir=*/false, /*is_shared=*/true));
    }
    return std::unique_ptr<PostgresCluster>(
        new PostgresCluster(NewFolder(), /*own_dir=*/true, /*is_shared=*/true));
  }();
  return *cluster;
}

std::unique_ptr<PostgresCluster> PostgresCluster::StartOwn() {
  return std::unique_ptr<PostgresCluster>(
      new PostgresCluster(NewFolder(), /*own_dir=*/true, /*is_shared=*/false));
}

PostgresCluster::PostgresCluster(std::string dir, bool own_dir, bool is_shared)
    : dir_(std::move(dir)), own_dir_(own_dir), is_shared_(is_shared) {
  if (own_dir_) RunScript("start", absl::StrCat(dir_, " ", getpid()));
  socket_dir_ = ReadFile(dir_ + "/socket");
}

PostgresCluster::~PostgresCluster() {
  if (!own_dir_) return;
  try {
    RunScript("stop", dir_);
    std::filesystem::remove_all(dir_);
  } catch (const std::exception&) {
    // The guard that `start` left running removes the cluster when this process has ended.
  }
}

std::string PostgresCluster::ConnInfo(absl::string_view database, absl::string_view user) const {
  std::string info = absl::StrCat("host=", socket_dir_, " dbname=", database);
  if (!user.empty()) absl::StrAppend(&info, " user=", user);
  return info;
}

void PostgresCluster::Stop(StopMode mode) {
  if (!own_dir_) throw std::logic_error("the shared cluster must not be stopped");
  RunScript("halt", absl::StrCat(dir_, mode == StopMode::kFast ? " fast" : " immediate"));
}

void PostgresCluster::BackUp() {
  if (!own_dir_) throw std::logic_error("the shared cluster is not this test's to back up");
  RunScript("backup", dir_);
}

void PostgresCluster::RestoreTo(const std::string& point) {
  if (!own_dir_) throw std::logic_error("the shared cluster must not be restored");
  RunScript("restore", absl::StrCat(dir_, " ", point));
}

void PostgresCluster::Start() {
  if (!own_dir_) throw std::logic_error("the shared cluster is not this test's to start");
  RunScript("resume", dir_);
}

}  // namespace muster::testing
