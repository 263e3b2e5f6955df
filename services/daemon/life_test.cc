#include "services/daemon/life.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/testing/temp_folder.h"

namespace muster::daemon {
namespace {

using ::testing::ElementsAre;

// What systemd would hear.
class Listener : private muster::testing::TempFolder {
 public:
  Listener() : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
      throw std::runtime_error("bind failed");
  }
  ~Listener() { close(socket_); }

  std::string path() const { return Path("notify"); }
  // All that came since the last call.
  std::vector<std::string> Heard() const {
    std::vector<std::string> all;
    char text[256];
    ssize_t size = 0;
    while ((size = recv(socket_, text, sizeof(text), MSG_DONTWAIT)) > 0)
      all.emplace_back(text, static_cast<size_t>(size));
    return all;
  }

 private:
  const int socket_;
};

class LifeTest : public ::testing::Test {
 protected:
  Life::Options Options() {
    return {.patience = absl::Seconds(60),
            .notifier = Notifier(listener_.path()),
            .clock = &clock_,
            .on_change = [this](bool alive) { changes_.push_back(alive); },
            .thread = false};
  }

  Listener listener_;
  FakeSteadyClock clock_;
  std::vector<bool> changes_;
};

TEST_F(LifeTest, IsReadyOnceAndLivesWithoutBeingReady) {
  Life life(Options());
  life.Look();
  EXPECT_THAT(listener_.Heard(), ElementsAre("WATCHDOG=1", "STATUS=alive, not ready"));
  life.Beat(true);
  life.Look();
  EXPECT_THAT(listener_.Heard(), ElementsAre("READY=1", "WATCHDOG=1", "STATUS=ready"));
  // What it waits for is away for an hour.
  for (int minute = 0; minute < 60; ++minute) {
    clock_.Advance(absl::Minutes(1));
    life.Beat(false);
    life.Look();
    EXPECT_TRUE(life.alive());
    EXPECT_EQ(listener_.Heard().front(), "WATCHDOG=1");
  }
  life.Beat(true);
  life.Look();
  EXPECT_THAT(listener_.Heard(), ElementsAre("WATCHDOG=1", "STATUS=ready"));
  life.Stop();
  life.Look();
  EXPECT_THAT(listener_.Heard(), ElementsAre("STOPPING=1\nSTATUS=ends"));
  EXPECT_THAT(changes_, ElementsAre(true));
}

TEST_F(LifeTest, WhatHangsIsNotSaidToLive) {
  Life life(Options());
  life.Beat(true);
  life.Look();
  listener_.Heard();
  clock_.Advance(absl::Seconds(60));
  life.Look();
  EXPECT_THAT(listener_.Heard(), ElementsAre("WATCHDOG=1"));
  clock_.Advance(absl::Nanoseconds(1));
  life.Look();
  life.Look();
  EXPECT_THAT(listener_.Heard(), ElementsAre("STATUS=hangs: no sign of life"));
  EXPECT_FALSE(life.alive());
  life.Beat(true);
  life.Look();
  EXPECT_THAT(listener_.Heard(), ElementsAre("WATCHDOG=1", "STATUS=ready"));
  EXPECT_THAT(changes_, ElementsAre(true, false, true));
}

// Who never hears of READY=1 takes the unit for one that does not start.
TEST_F(LifeTest, ReadyIsToldUntilItIsHeard) {
  Life::Options options = Options();
  const std::string path = listener_.path();
  const std::string aside = path + "-aside";
  ASSERT_EQ(rename(path.c_str(), aside.c_str()), 0);
  Life life(std::move(options));
  life.Beat(true);
  life.Look();
  ASSERT_EQ(rename(aside.c_str(), path.c_str()), 0);
  EXPECT_THAT(listener_.Heard(), ::testing::IsEmpty());
  life.Look();
  EXPECT_THAT(listener_.Heard(), ::testing::Contains("READY=1"));
  life.Look();
  EXPECT_THAT(listener_.Heard(), ElementsAre("WATCHDOG=1"));
}

TEST(NotifierTest, ReadsTheEnvironment) {
  setenv("NOTIFY_SOCKET", "/nowhere", 1);
  setenv("WATCHDOG_USEC", "30000000", 1);
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  EXPECT_EQ(Notifier::FromEnvironment().watchdog(), absl::Seconds(30));
  EXPECT_FALSE(Notifier::FromEnvironment().Tell("READY=1"));
  setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(Notifier::FromEnvironment().watchdog(), absl::ZeroDuration());
  for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) unsetenv(name);
  EXPECT_FALSE(Notifier::FromEnvironment().Tell("READY=1"));
}

}  // namespace
}  // namespace muster::daemon
