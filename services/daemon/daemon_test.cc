#include "services/daemon/daemon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "absl/flags/reflection.h"
#include "services/common/log.h"
#include "services/daemon/flags.h"
#include "tests/testing/temp_folder.h"

ABSL_DECLARE_FLAG(std::string, log_level);
ABSL_DECLARE_FLAG(std::string, trace_endpoint);
ABSL_DECLARE_FLAG(double, trace_sample);

namespace muster::daemon {
namespace {

using ::testing::HasSubstr;

class DaemonTest : public ::testing::Test, protected muster::testing::TempFolder {
 protected:
  ~DaemonTest() override { log::SetLevel(log::Level::kInfo); }

  void Say(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text << "\n";
  }
  const absl::FlagSaver flags_;
};

TEST_F(DaemonTest, TheLevelsFileWinsAndIsReadAgain) {
  Say("level", "error");
  auto daemon = Daemon::Start(
      {.log_level = log::Level::kDebug, .log_level_file = Path("level"), .log_file = Path("log")});
  ASSERT_TRUE(daemon.ok()) << daemon.status();
  EXPECT_EQ(log::CurrentLevel(), log::Level::kError);
  Say("level", "debug");
  (*daemon)->Reload();
  EXPECT_EQ(log::CurrentLevel(), log::Level::kDebug);
  Say("level", "loud");
  (*daemon)->Reload();
  EXPECT_EQ(log::CurrentLevel(), log::Level::kDebug);
  daemon->reset();
  EXPECT_THAT(Text("log"), HasSubstr("must say debug, info, warning or error"));
}

TEST_F(DaemonTest, ALevelsFileThatIsNotThereSaysNothing) {
  const auto daemon = Daemon::Start(
      {.log_level = log::Level::kWarn, .log_level_file = Path("nowhere"), .log_file = Path("log")});
  ASSERT_TRUE(daemon.ok());
  EXPECT_EQ(log::CurrentLevel(), log::Level::kWarn);
}

TEST_F(DaemonTest, AllFilesAreLookedAtBeforehand) {
  Say("level", "loud");
  const absl::Status status = CheckFiles({.log_level_file = Path("level"),
                                          .log_file = Path("nowhere/log"),
                                          .trace_file = Path("nowhere/spans")});
  for (const char* flag : {"--log_level_file", "--log_file", "--trace_file"})
    EXPECT_THAT(std::string(status.message()), HasSubstr(flag));
  EXPECT_TRUE(CheckFiles({.log_file = Path("log"), .trace_file = Path("spans")}).ok());
}

TEST_F(DaemonTest, AHangUpReloadsAndEndsNothing) {
  Daemon::BlockSignals({SIGUSR1});
  auto daemon = Daemon::Start({.log_file = Path("log")});
  ASSERT_TRUE(daemon.ok());
  int reloads = 0;
  (*daemon)->OnReload("good", [&] {
    ++reloads;
    return absl::OkStatus();
  });
  (*daemon)->OnReload("bad", [] { return absl::UnavailableError("gone"); });
  std::filesystem::rename(Path("log"), Path("log.1"));
  kill(getpid(), SIGHUP);
  kill(getpid(), SIGUSR1);
  // Blocked signals come in the order of their numbers: 1, then 10.
  EXPECT_EQ((*daemon)->WaitForSignal(), SIGUSR1);
  EXPECT_EQ(reloads, 1);
  daemon->reset();
  EXPECT_THAT(Text("log"), HasSubstr(R"("flag":"bad","error":"UNAVAILABLE: gone")"));
}

TEST_F(DaemonTest, FlagsAreChecked) {
  EXPECT_TRUE(OptionsFromFlags().ok());
  absl::SetFlag(&FLAGS_log_level, "LOUD");
  absl::SetFlag(&FLAGS_trace_endpoint, "collector:4318");
  absl::SetFlag(&FLAGS_trace_sample, 1.5);
  const absl::Status status = OptionsFromFlags().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  for (const char* flag : {"--log_level", "--trace_endpoint", "--trace_sample"})
    EXPECT_THAT(status.ToString(), HasSubstr(flag));
}

}  // namespace
}  // namespace muster::daemon
