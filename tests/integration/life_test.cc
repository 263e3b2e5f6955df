// A process that lives and one that is ready are two things: who restarts and who sends calls is
// told apart. And what systemd hears.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/rpc/client/health.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/patience.h"
#include "tests/testing/reserved_port.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {
namespace {

using rpc::AskHealth;
using rpc::HealthAnswer;

constexpr absl::Duration kAnswer = absl::Seconds(10);

// What systemd would hear.
class ServiceManager {
 public:
  ServiceManager() {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
      throw std::runtime_error("bind failed");
    reader_ = std::thread([this] { Read(); });
  }
  ~ServiceManager() {
    shutdown(socket_, SHUT_RDWR);
    reader_.join();
    close(socket_);
  }

  std::string path() const { return folder_.Path("notify"); }
  // How often it was told so.
  int64_t Heard(const std::string& state) const {
    MutexLock lock(mutex_);
    return std::count(heard_.begin(), heard_.end(), state);
  }

 private:
  void Read() {
    char text[256];
    for (ssize_t size = 0; (size = recv(socket_, text, sizeof(text), 0)) > 0;) {
      MutexLock lock(mutex_);
      heard_.emplace_back(text, static_cast<size_t>(size));
    }
  }

  const TempFolder folder_;
  const int socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  mutable Mutex mutex_;
  std::vector<std::string> heard_ MUSTER_GUARDED_BY(mutex_);
  std::thread reader_;
};

TEST(Life, ADatabaseThatIsAwayRestartsNobody) {
  const ServiceManager manager;
  const ReservedPort port;
  MiniMuster muster({.musterd_flags = {absl::StrCat("--health_listen=127.0.0.1:", port.number())},
                     .musterd_prefix = {"/usr/bin/env", "NOTIFY_SOCKET=" + manager.path(),
                                        "WATCHDOG_USEC=3000000"},
                     .own_cluster = true});
  Until([&] { return manager.Heard("READY=1") == 1; }, "READY=1");
  const auto probes = grpc::CreateChannel(absl::StrCat("127.0.0.1:", port.number()),
                                          grpc::InsecureChannelCredentials());
  const std::shared_ptr<grpc::Channel> all[] = {probes, muster.channel(),
                                                muster.operator_channel()};
  const pid_t pid = muster.pid();
  for (const auto& channel : all) {
    EXPECT_EQ(AskHealth(channel, "live", kAnswer), HealthAnswer::kServing);
    EXPECT_EQ(AskHealth(channel, "", kAnswer), HealthAnswer::kServing);
    EXPECT_EQ(AskHealth(channel, "nobody", kAnswer), HealthAnswer::kNone);
  }

  muster.cluster().Stop(PostgresCluster::StopMode::kImmediate);
  for (const auto& channel : all) {
    Until([&] { return AskHealth(channel, "", kAnswer) == HealthAnswer::kNotServing; },
          "readiness to follow");
    EXPECT_EQ(AskHealth(channel, "live", kAnswer), HealthAnswer::kServing);
  }
  Until([&] { return manager.Heard("STATUS=alive, not ready") > 0; }, "the status");
  // For longer than it may be silent.
  const int64_t signs = manager.Heard("WATCHDOG=1");
  Until([&] { return manager.Heard("WATCHDOG=1") > signs + 4; }, "signs of life");
  EXPECT_EQ(AskHealth(probes, "live", kAnswer), HealthAnswer::kServing);
  EXPECT_EQ(AskHealth(probes, "", kAnswer), HealthAnswer::kNotServing);

  muster.cluster().Start();
  Until([&] { return AskHealth(probes, "", kAnswer) == HealthAnswer::kServing; }, "readiness");
  EXPECT_EQ(muster.pid(), pid);
  EXPECT_EQ(muster.Terminate(), 0);
  Until([&] { return manager.Heard("STOPPING=1\nSTATUS=ends") == 1; }, "STOPPING=1");
  EXPECT_EQ(manager.Heard("READY=1"), 1);
}

// As a password that is changed: what was said before leads nowhere, and nobody sends a signal.
TEST(Life, AnotherConnectionStringCountsForNewConnections) {
  MiniMuster muster;
  muster.ApplyCatalogue();
  muster.ApplyExample();
  EXPECT_EQ(muster.Terminate(), 0);
  const TempFolder folder;
  const std::string conninfo = muster.database().conninfo_without_user();
  const std::string sockets = conninfo.substr(5, conninfo.find(' ') - 5);  // host=FOLDER dbname=...
  // The last `host` counts.
  const auto by = [&](const std::string& link) {
    std::filesystem::create_directory_symlink(sockets, folder.Path(link));
    std::ofstream(folder.Path("conninfo")) << conninfo << " host=" << folder.Path(link) << "\n";
  };
  by("old");
  muster.AddMusterdFlag("--db_conninfo=");
  muster.AddMusterdFlag("--db_conninfo_file=" + folder.Path("conninfo"));
  muster.Start();
  ASSERT_TRUE(muster.AwaitSettled(1)) << muster.LogEnds();
  const pid_t pid = muster.pid();

  std::filesystem::remove(folder.Path("old"));
  muster.database().TerminateBackends();
  by("new");
  Until([&] { return muster.Resize(2).ok(); }, "a change");
  EXPECT_TRUE(muster.AwaitSettled(2)) << muster.LogEnds();
  EXPECT_TRUE(muster.Runs() && muster.pid() == pid);
}

// What a server that is gone has lost nobody compares: that it is gone is told.
TEST(Life, AServerThatCrashedFailsItsTest) {
  auto muster = std::make_unique<MiniMuster>();
  muster->Signal(SIGABRT);
  Until([&] { return !muster->Runs(); }, "its end");
  EXPECT_NONFATAL_FAILURE(muster->Start(), "musterd 0 ended by itself, with exit code 134");
  muster->Signal(SIGABRT);
  Until([&] { return !muster->Runs(); }, "its end");
  EXPECT_NONFATAL_FAILURE(muster.reset(), "musterd 0 ended by itself, with exit code 134");
}

}  // namespace
}  // namespace muster::testing
